"""The Lucene engine, run in this process through Pyserini's jar and pyjnius.

Importing this package starts nothing: the Java virtual machine comes up with the first index that is built or loaded.
"""

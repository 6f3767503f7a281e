"""``python -m autoindex_haystack.cli`` is the same as ``autoindex``."""

import sys

from autoindex_haystack.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

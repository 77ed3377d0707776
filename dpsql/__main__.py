"""What does `python -m dpsql` run?"""

from dpsql.cli.main import main

main()

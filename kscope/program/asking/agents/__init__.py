"""`kscope mcp`: the program's questions, and those of a kscope's runs, as tools for agents.

`files` asks the program itself, a process for each question; `runs` asks a kscope by its REST API, as
the account of KSCOPE_TOKEN and within its limits. `serving` offers both by the Model Context Protocol.
"""

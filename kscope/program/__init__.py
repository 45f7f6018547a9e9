"""The program `kscope`: what somebody on call, or a pipeline, types.

    main ─▶ grammar: words become a Request ─┬─▶ asking: triage, why; the engine directly
                                             └─▶ acting: up, simulate, versions, completion, Django
    speech: errors, colours, widths, tables, formats

`kscope --help` imports no engine and no Django. `manage.py` goes on to work; what both do stands
once, in `engine`.
"""

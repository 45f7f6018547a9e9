"""`kscope completion`: scripts for three shells, made from the grammar."""

from __future__ import annotations

from kscope.program.grammar import COMMANDS, SHELLS, Command, Flag, Request
from kscope.program.speech.errors import ProgramError, Status, similar_help
from kscope.program.speech.screen import Screen

_KINDS = (
    "pod",
    "pvc",
    "pv",
    "node",
    "deploy",
    "sts",
    "ds",
    "rs",
    "job",
    "pdb",
    "quota",
    "sc",
    "ns",
)
# Of commands that take an object.
_WITH_OBJECT = ("why", "diff")


def answer_completion(request: Request, screen: Screen) -> int:
    """Print the script of a shell."""
    if len(request.words) != 1:
        raise ProgramError("which shell?", helps=["kscope completion bash, zsh or fish"])
    shell = request.words[0]
    if shell not in SHELLS:
        helps = similar_help("shell", shell, SHELLS) or ["bash, zsh or fish"]
        raise ProgramError(f"no completion for {shell}", helps=helps)
    screen.write({"bash": bash, "zsh": zsh, "fish": fish}[shell]())
    return Status.FINE


def bash() -> str:
    """For bash, without any package of completions."""
    cases = "\n".join(_bash_case(command) for command in COMMANDS.values())
    return f"""# kscope: completion for bash. source <(kscope completion bash)
_kscope() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="" each
    COMPREPLY=()
    for each in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$each" in -*) ;; *) command="$each"; break ;; esac
    done
    case "$before" in
{_bash_values()}
    esac
    case "$command" in
        "") COMPREPLY=($(compgen -W "{" ".join(COMMANDS)} --help --version" -- "$word")) ;;
{cases}
    esac
}}
complete -o filenames -F _kscope kscope
"""


def _bash_values() -> str:
    found: list[str] = []
    for flag in _all_flags():
        if flag.choices:
            names, words = "|".join(flag.names), " ".join(flag.choices)
            found.append(
                f'        {names}) COMPREPLY=($(compgen -W "{words}" -- "$word")); return ;;'
            )
        elif flag.value in ("FILE", "FOLDER"):
            found.append(
                f'        {"|".join(flag.names)}) COMPREPLY=($(compgen -f -- "$word")); return ;;'
            )
        elif flag.value:
            found.append(f"        {'|'.join(flag.names)}) return ;;")
    return "\n".join(found)


def _bash_case(command: Command) -> str:
    flags = " ".join(f"--{flag.long}" for flag in command.all_flags)
    words = " ".join(_words(command))
    files = ' $(compgen -f -- "$word")' if "files" in command.operands else ""
    return f"""        {command.name})
            case "$word" in
                -*) COMPREPLY=($(compgen -W "{flags}" -- "$word")) ;;
                *) COMPREPLY=($(compgen -W "{words}" -- "$word"){files}) ;;
            esac ;;"""


def _words(command: Command) -> list[str]:
    kinds = [f"{kind}/" for kind in _KINDS] if command.name in _WITH_OBJECT else []
    return [*(each for each in command.operands if each != "files"), *kinds]


def _all_flags() -> list[Flag]:
    """Every flag of any command, each once."""
    return list(
        {flag.long: flag for command in COMMANDS.values() for flag in command.all_flags}.values()
    )


def zsh() -> str:
    """For zsh, as a function of its completion system."""
    cases = "\n".join(_zsh_case(command) for command in COMMANDS.values())
    return f"""#compdef kscope
# kscope: completion for zsh. kscope completion zsh > "${{fpath[1]}}/_kscope"
_kscope() {{
    local command="" each
    for each in "${{(@)words[2,CURRENT-1]}}"; do
        case "$each" in -*) ;; *) command="$each"; break ;; esac
    done
    case "$command" in
        "") _arguments '--help[all commands]' '--version[version and profiles]' '1:command:({" ".join(COMMANDS)})' ;;
{cases}
    esac
}}
compdef _kscope kscope
"""


def _zsh_case(command: Command) -> str:
    flags = " ".join(spec for flag in command.all_flags for spec in _zsh_flag(flag))
    words = " ".join(_words(command))
    files = "*:file or object:_files" if "files" in command.operands else f"*:word:({words})"
    return f"        {command.name}) _arguments {flags} '{files}' ;;"


def _zsh_flag(flag: Flag) -> list[str]:
    star = "\\*" if flag.repeats else ""
    if not flag.value:
        return [f"{star}{name}" for name in flag.names]
    action = (
        f"({' '.join(flag.choices)})"
        if flag.choices
        else "_files"
        if flag.value in ("FILE", "FOLDER")
        else " "
    )
    return [f"'{star.replace(chr(92), '')}{name}:{flag.long}:{action}'" for name in flag.names]


def fish() -> str:
    """For fish."""
    lines = ["# kscope: completion for fish", "complete -c kscope -f"]
    for command in COMMANDS.values():
        lines.append(f"complete -c kscope -n __fish_use_subcommand -a {command.name}")
        seen = f"'__fish_seen_subcommand_from {command.name}'"
        words = " ".join(_words(command))
        if "files" in command.operands:
            lines.append(f"complete -c kscope -n {seen} -F")
        if words:
            lines.append(f"complete -c kscope -n {seen} -a '{words}'")
        lines += [_fish_flag(seen, flag) for flag in command.all_flags]
    return "\n".join(lines) + "\n"


def _fish_flag(seen: str, flag: Flag) -> str:
    short = f" -s {flag.short}" if flag.short else ""
    if not flag.value:
        return f"complete -c kscope -n {seen} -l {flag.long}{short}"
    files = " -F" if flag.value in ("FILE", "FOLDER") else ""
    words = f" -a '{' '.join(flag.choices)}'" if flag.choices else ""
    return f"complete -c kscope -n {seen} -l {flag.long}{short} -r{files}{words}"

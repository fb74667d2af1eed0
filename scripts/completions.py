"""Write the completion scripts for bash, zsh and fish and kubectl's hook into ``completions/``."""

from __future__ import annotations

from pathlib import Path

PROGRAMS = ("dractl", "kubectl-dra")
FOLDER = Path(__file__).resolve().parent.parent / "completions"

BASH = """\
# bash completion for {first}: source this file, or put it into /etc/bash_completion.d/
_dractl() {{
    local line lines=() last
    COMPREPLY=()
    while IFS= read -r line; do
        lines+=("$line")
    done < <("${{COMP_WORDS[0]}}" __complete "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null)
    last=$((${{#lines[@]}} - 1))
    [ "$last" -ge 0 ] || return 0
    if [ "${{lines[last]}}" = ":4" ]; then
        compopt +o default 2>/dev/null
    fi
    for line in "${{lines[@]:0:last}}"; do
        COMPREPLY+=("${{line%%$'\\t'*}}")
    done
}}
complete -o default -F _dractl {programs}
"""

ZSH = """\
#compdef {programs}
# zsh completion for {first}: put this file as _dractl into a folder of $fpath, or source it after compinit
_dractl() {{
    local -a lines values
    local line
    lines=("${{(@f)$("${{words[1]}}" __complete "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    for line in "${{(@)lines[1,-2]}}"; do
        if [[ "$line" == *$'\\t'* ]]; then
            values+=("${{${{line%%$'\\t'*}}//:/\\\\:}}:${{line#*$'\\t'}}")
        else
            values+=("${{line//:/\\\\:}}")
        fi
    done
    if (( $#values )); then
        _describe '{first}' values
    elif [[ "${{lines[-1]}}" != ":4" ]]; then
        _files
    fi
}}
if [[ "${{funcstack[1]}}" == "_dractl" ]]; then
    _dractl "$@"
else
    compdef _dractl {programs}
fi
"""

FISH = """\
# fish completion for {first}: put this file into ~/.config/fish/completions/
function __dractl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] __complete $words[2..] "$current" 2>/dev/null
end
function __dractl_candidates
    __dractl_complete | string match --invert --regex '^:[0-9]+$'
end
function __dractl_wants_files
    __dractl_complete | string match --quiet ':0'
end
{lines}
"""
FISH_LINES = """\
complete --command {program} --no-files --arguments '(__dractl_candidates)'
complete --command {program} --condition __dractl_wants_files --force-files"""

KUBECTL = """\
#!/bin/sh
# Completion of "kubectl dra ...": put this file, executable, beside kubectl-dra on the PATH.
exec kubectl-dra __complete "$@"
"""


def scripts() -> dict[str, str]:
    """File name -> content."""
    words = {"first": PROGRAMS[0], "programs": " ".join(PROGRAMS)}
    fish = "\n".join(FISH_LINES.format(program=program) for program in PROGRAMS)
    return {
        "dractl.bash": BASH.format(**words),
        "_dractl": ZSH.format(**words),
        "dractl.fish": FISH.format(**words, lines=fish),
        "kubectl_complete-dra": KUBECTL,
    }


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in scripts().items():
        path = FOLDER / name
        path.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)


if __name__ == "__main__":
    main()

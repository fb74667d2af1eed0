# bash completion for dractl: source this file, or put it into /etc/bash_completion.d/
_dractl() {
    local line lines=() last
    COMPREPLY=()
    while IFS= read -r line; do
        lines+=("$line")
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    last=$((${#lines[@]} - 1))
    [ "$last" -ge 0 ] || return 0
    if [ "${lines[last]}" = ":4" ]; then
        compopt +o default 2>/dev/null
    fi
    for line in "${lines[@]:0:last}"; do
        COMPREPLY+=("${line%%$'\t'*}")
    done
}
complete -o default -F _dractl dractl kubectl-dra

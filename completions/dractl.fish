# fish completion for dractl: put this file into ~/.config/fish/completions/
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
complete --command dractl --no-files --arguments '(__dractl_candidates)'
complete --command dractl --condition __dractl_wants_files --force-files
complete --command kubectl-dra --no-files --arguments '(__dractl_candidates)'
complete --command kubectl-dra --condition __dractl_wants_files --force-files

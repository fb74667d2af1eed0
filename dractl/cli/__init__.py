"""The command line: parse options, open a source, call one function, hand its result to a renderer.

How to add a command ``dractl sample``:

1. Add one line to ``COMMANDS`` in ``dractl/cli/frame.py``: name, module, one-line help.
2. Write ``dractl/cli/sample.py``, with ``app = new_app()`` (from ``dractl.cli.app``) and one function under
   ``@app.command()``. Several functions make sub-commands (``dractl sample this``); for a single sub-command add an
   empty ``@app.callback()``. The module imports only typer and ``dractl.cli.*`` at its top; everything else is
   imported inside the function, so that ``dractl --help`` stays fast::

       import typer

       from dractl.cli import options
       from dractl.cli.app import new_app

       app = new_app()


       @app.command()
       def sample(
           name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the claim.")],
           namespace: options.Namespace = None,
           output: options.Output = options.Format.TEXT,
           snapshot: options.Snapshot = None,
           demo: options.Demo = False,
           context: options.Context = None,
           kubeconfig: options.Kubeconfig = None,
           kubernetes: options.Kubernetes = None,
       ) -> int:
           \"\"\"One line that help shows.\"\"\"
           from dractl.cli.source import choose_release, open_inventory
           from dractl.explain.claim import explain_claim

           inventory = open_inventory(snapshot, demo, context, kubeconfig)
           release = choose_release(inventory, kubernetes)
           report = explain_claim(inventory, release, options.namespace_or_default(namespace), name)
           emit_report(report.to_json(), output, lambda terminal: render_claim(report, terminal))
           return Exit.GOOD if report.fits else Exit.NOT_GOOD

   The function returns the exit code (``dractl.errors.Exit``; None counts as 0).
3. Print with ``dractl.cli.output``: ``emit`` for text, ``emit_report`` for a report in the format that ``-o`` asks
   for, ``note`` for progress and remarks on stderr. Never use ``print``.
4. Say what went wrong by raising ``dractl.errors.DractlError(message, hint, exit_code)``; it is shown as
   ``error: message`` and the hint below. Do not catch it.
5. A new report: add its kind and dataclass to ``schemas/reports.py``; after each change of a report ``make schemas``.
6. Add tests under ``tests/cli/`` with the ``dractl`` fixture (``tests/conftest.py``):
   ``dractl("get", "devices", "--demo").code == 0``.
"""

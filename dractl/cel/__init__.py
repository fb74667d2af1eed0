"""CEL as Kubernetes' DRA speaks it: selectors compiled, judged and evaluated as each release from 1.31 to 1.37 does.

``selector.compile_selector(text, Environment((1, 36)))`` is the way in; the rest is used from there. Verdicts, error
texts, costs and results are cel-go's and Kubernetes', faults included; where a rule differs between releases it asks
``Environment.release`` or ``Environment.cel_go``.

From text to verdict (``frontend.compile``):

=======================  ============================================================================================
``environment``          which libraries, macros and fields of ``device`` a release has; the table ``_LIBRARIES``
``lexer``, ``descent``   tokens, and the parse tree (``syntax``) of a text without syntax errors
``recovery``             the same for a text with syntax errors: repeats ANTLR's recovery, to report what it reports;
                         ``grammar`` (the network), ``prediction`` (which alternative) and ``syntax_tree``
``builder``, ``macros``  the syntax tree (``ast``): numbers nodes in cel-go's order, expands macros
``checker``, ``unify``   types (``types``) and overloads of every node; the result is ``checked.Checked``
``validators``           literals that can only fail, lists of mixed types, ``format_check``
``cost_static``          the estimate: ``cost_functions`` has what calls cost, ``cost_sizes`` the sizes that the API's
                         limits give a device, ``cost_range`` the arithmetic, ``cost_old`` the rules of 1.32
``errors``               faults with their places, and how cel-go prints them
=======================  ============================================================================================

From verdict to outcome (``selector``):

=======================  ============================================================================================
``plan``                 calls bound to implementations (``library.registry``), paths gathered, constants folded
``evaluator``            closures of a plan (``steps``, ``paths``, ``folds``, ``shortcuts``); ``counted`` and
                         ``cost_runtime`` count what a run costs
``values``, ``compare``  values and the rules between any two of them; ``device`` is the variable ``device``
``reads``                what of a device an expression reads, so that devices that are alike are evaluated once
``advice``, ``explain``  what was probably meant; which part of a selector does not hold
=======================  ============================================================================================

One function, from one end to the other: ``"abc".startsWith("a")``. Its signature is the line ``starts_with_string`` in
``library/decl_standard.py`` (extensions: ``decl_extensions``, Kubernetes' own: ``decl_kubernetes``), its code the entry
of the same overload id in ``library/standard.py``. The estimate of a call is looked up by overload id or by function
name in ``cost_functions``, the cost of a run in ``cost_runtime``. A new function needs these four, and in
``environment._LIBRARIES`` the releases that have its library.

Protobuf's messages are made in ``library/messages``, what their fields take in ``library/native``.

Hostile expressions end soon and with a ``CelError``: ``recursion`` makes room for 250 nested levels, ``builder``
bounds what macros write out, ``guard`` bounds values. What is compared with Kubernetes' own code lies in ``tests/cel``:
``grammar.py``, ``generate.py``, ``calls.py`` (every form in turn) and ``texts.py`` make expressions,
``differential.py`` asks Kubernetes' code about them, and the ``*.jsonl.gz`` are its recorded answers.
"""

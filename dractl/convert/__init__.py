"""Manifests of older API versions -> manifests of today, in place on the parsed documents so that comments stay.

``run`` takes the documents of a stream and gives the converted ones with notes; ``beta`` moves fields between
v1alpha3, v1beta1, v1beta2 and v1; ``first`` translates v1alpha1 and v1alpha2; ``parameters`` what their parameters
said; ``plugin`` workloads that ask a device plugin; ``nodes`` edits a document without losing comments.
"""

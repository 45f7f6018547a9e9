"""What a CustomResourceDefinition and the rules of its schemas have to be.

Upstream: apiextensions-apiserver pkg/apis/apiextensions/validation.
"""

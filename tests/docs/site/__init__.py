"""The site of the documents: what fails its build, and what its pages lead to."""

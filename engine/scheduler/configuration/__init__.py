"""From a configuration file to a `SchedulerSetup`: profiles, plugins with weights, extenders.

Reads KubeSchedulerConfiguration of every API version and the Policy of v1.16. `profiles` holds the
defaults of each Kubernetes version, `registry` the plugins that a profile can name;
`scenario_schedulers` reads the schedulers of a scenario and checks them before a run is made.
"""

"""A study that is the template of a fleet, for tests that plan one."""

TEMPLATE = """\
netlab: 1
name: template
title: Any two hosts
hosts: {left: {kind: lab}, right: {kind: lab}}
paths: {cable: {ends: [{host: left}, {host: right}]}}
groups: [{name: only, path: cable, sender: left}]
streams: [1, 2]
timing: {rounds: 4, seconds: 5.0, warmup_s: 1.0}
"""

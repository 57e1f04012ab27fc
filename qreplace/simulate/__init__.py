"""Simulators: switching, execution arithmetic, common lattice, phase diagrams (theory T2, T4).

A simulator decides nothing. What it measures reaches a decision only as a premise whose label
``labels`` writes, or as a claim that a checker recomputes.
"""

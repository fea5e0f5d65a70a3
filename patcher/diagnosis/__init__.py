"""Logs of all ranks -> what is in them and what is wrong; and a few ranks that are started: can they talk to each other?"""

"""Logs of all ranks -> what is wrong in them; and ranks that are started: can they talk?"""

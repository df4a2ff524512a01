"""Bulk reading: many files into records, for retrieval and training.

record   `Record`, the one form of every result, and its schema
walk     paths and patterns to files, in one fixed order
windows  a document in parts, to its end
reading  one file to records
chunks   texts in pieces of a limited size, cut by structure
pool     many files in several processes or threads, with a bound on what is in flight
worker   one of these processes
export   records to a file that a later run continues
"""

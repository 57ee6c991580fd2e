"""Tests of the judge: for each guarantee a history that holds and its nearest neighbour that does not."""

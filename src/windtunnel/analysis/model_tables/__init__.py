"""Tables of models and settings: accuracies as fractions, from run folders and several kinds of CSV files."""

"""What is true of a program: facts about names, memory, integers and iterations that passes ask for. Nothing here changes a program."""

"""Small parts of sentences that every room says in the same way."""


def counted(number: int, one: str, many: str) -> str:
    """Say how many there are of something.

    :param number: How many.
    :param one: What follows the number 1.
    :param many: What follows any other number.
    :returns: The number and the words, such as ``1 query`` or ``2,000 queries``.
    """
    return f"{number:,} {one if number == 1 else many}"

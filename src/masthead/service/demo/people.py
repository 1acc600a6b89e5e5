"""The members and comments of the demo magazine."""

from __future__ import annotations

import msgspec


class DemoMember(msgspec.Struct, frozen=True):
    name: str
    tier: str = "free"
    newsletter: bool = True
    status: str = "active"

    @property
    def email(self) -> str:
        return f"{self.name.lower().replace(' ', '.').replace(chr(39), '')}@example.com"


class DemoComment(msgspec.Struct, frozen=True):
    post: str
    author: str
    body: str
    replies_to: int | None = None
    """The index in `COMMENTS` of the comment that it replies to."""
    status: str = "approved"


MEMBERS = (
    DemoMember("Hannah Whitlock", "paid"),
    DemoMember("Tomas Reyes", "paid"),
    DemoMember("Priya Nair", "paid"),
    DemoMember("Callum Baird"),
    DemoMember("Ines Ferro", "paid"),
    DemoMember("Dev Anand"),
    DemoMember("Ruth Abara", "paid"),
    DemoMember("Peter Lyle", newsletter=False),
    DemoMember("Mirela Costin"),
    DemoMember("Jonah Pike"),
    DemoMember("Greta Holm", "paid"),
    DemoMember("Sam Okafor"),
    DemoMember("Lucy Tran", "paid"),
    DemoMember("Martin Vane", newsletter=False),
    DemoMember("Aoife Byrne"),
    DemoMember("Yusuf Demir", "paid"),
    DemoMember("Clara Jansen"),
    DemoMember("Oliver Strand", status="cancelled", newsletter=False),
    DemoMember("Beth Calloway", "paid", status="past_due"),
    DemoMember("Noor Rahman"),
    DemoMember("Felix Adler", "paid"),
    DemoMember("Maggie O'Shea"),
    DemoMember("Viktor Lind", newsletter=False),
    DemoMember("Rosa Delgado", "paid"),
    DemoMember("Edie Marsh"),
)

COMMENTS = (
    DemoComment("ferry", "Callum Baird", "The boy with the cello is my nephew. He denies all."),
    DemoComment("ferry", "Hannah Whitlock", "I have had that sigh. It stays with you.", 0),
    DemoComment("ferry", "Martin Vane", "Is there a boat back before midnight on Sundays?"),
    DemoComment("ferry", "Aoife Byrne", "No, but there is a very comfortable bench.", 2),
    DemoComment("bread", "Priya Nair", "At last, an explanation for the rye."),
    DemoComment("bread", "Jonah Pike", "For the record, I was winning the argument.", 4),
    DemoComment("bread", "Greta Holm", "Which hospital did the oven come from? I trained at one."),
    DemoComment("bread", "Mirela Costin", "St Anne's, the old one on the hill.", 6),
    DemoComment("bread", "Felix Adler", "Read this at six in the morning. Am now in the queue."),
    DemoComment("library", "Dev Anand", "The carpet cleaner is free on 4 March. Just saying."),
    DemoComment("library", "Sam Okafor", "I own a karaoke machine. Where do I bring it?"),
    DemoComment("library", "Dev Anand", "Above the fire station. Today, if you can.", 10),
    DemoComment("cliff", "Lucy Tran", "Did this on Saturday. The stile bit me."),
    DemoComment("cliff", "Rosa Delgado", "Sandwiches were gone at half past one. Go early!"),
    DemoComment("cliff", "Noor Rahman", "Is it all right with a pushchair as far as the cottages?"),
    DemoComment("cliff", "Lucy Tran", "To the second stile, yes. After that, a sling.", 14),
    DemoComment("wind", "Ruth Abara", "Two hundred and sixty chairs, if anyone is counting."),
    DemoComment("wind", "Peter Lyle", "A fair account. The road is still not mended."),
    DemoComment("wind", "Yusuf Demir", "How did you find a lender? Our parish has been refused."),
    DemoComment("wind", "Ruth Abara", "Write to me, I will send you the list we used.", 18),
    DemoComment("mackerel", "Clara Jansen", "Made it with rhubarb. Please forgive me."),
    DemoComment("mackerel", "Tomas Reyes", "Three minutes is right. I never believe it.", None),
    DemoComment("lighthouse", "Edie Marsh", "Edwin was my great-grandfather. Thank you for this."),
    DemoComment("lighthouse", "Ines Ferro", "The man with the shirts. I keep thinking of him.", 22),
    DemoComment("lighthouse", "Viktor Lind", "Justice for Mr Tully."),
    DemoComment("repair", "Maggie O'Shea", "Whose parking ticket was it?"),
    DemoComment("repair", "Beth Calloway", "I would like my plastic kettle back all the same."),
    DemoComment("swim", "Hannah Whitlock", "8.9 this morning. No complaints (during)."),
    DemoComment("swim", "Oliver Strand", "Is there somewhere to leave a bag?", status="pending"),
    DemoComment("swim", "Best Deals", "Cheap watches, click my profile!!!", status="spam"),
    DemoComment("issue", "Greta Holm", "Which side won the comma?", status="pending"),
    DemoComment(
        "light",
        "Edie Marsh",
        "Edwin was my great-grandfather. Thank you for this.\n\n"
        "The family version has more swearing in it.",
    ),
    DemoComment("light", "Ines Ferro", "The man with the shirts. I keep thinking of him.", 31),
    DemoComment("light", "Nell Ashby", "Bring the swearing to the museum on Saturday, please.", 31),
    DemoComment("light", "Edie Marsh", "It will need a room of its own.", 33),
    DemoComment("light", "Viktor Lind", "Justice for Mr Tully."),
    DemoComment(
        "light",
        "Callum Baird",
        "I timed it from the ferry: https://example.com/two-flashes. It is right, and I was late.",
    ),
)

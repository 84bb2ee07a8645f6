"""Without a named project, those that the words of a question point to are searched."""

from __future__ import annotations

from context_office import Office

API = """\
openapi: 3.1.0
info: {title: Depot, version: "1"}
paths:
  /pallets/{id}/unload:
    post:
      operationId: unloadPallet
      summary: Unload a pallet at the depot
"""
OTHER_API = API.replace("pallet", "song").replace("Pallet", "Song").replace("depot", "studio")
ANSWER = "def unload_pallet(pallet):\n    '''Unload a pallet at the depot gate.'''\n    open()\n"


def furnish(office: Office) -> None:
    for number in range(8):
        project = f"a{number}"
        code = f"def play_song_{number}(song):\n    return song\n"
        office.write("/song.py", code, "anna", project)
        office.write("/api.yaml", OTHER_API.replace("Depot", "Studio"), "anna", project)
    office.write("/depot.py", ANSWER, "anna", "warehouse")
    office.write("/api.yaml", API, "anna", "warehouse")


def test_the_project_of_the_answer_is_searched_whatever_its_name(office: Office) -> None:
    furnish(office)
    task = "unload a pallet at the depot gate"
    pack = office.context(task)
    assert any(item["ref"].startswith("file:warehouse/depot.py") for item in pack["files"])
    assert any(item["ref"].startswith("openapi:warehouse/") for item in pack["operations"])
    note = "only the 8 likeliest of 9 projects were searched; name one"
    assert f"files: {note}" in pack["notes"]
    assert f"operations: {note}" in pack["notes"]
    found = office.call("search_all", query=task)
    assert {"file", "openapi"} <= {
        result["ref"].partition(":")[0]
        for result in found["results"]
        if ":warehouse/" in result["ref"]
    }
    assert note in found["notes"]
    assert office.context(task) == pack


def test_where_words_do_not_decide_the_first_projects_are_searched(office: Office) -> None:
    for number in range(9):
        office.write("/x.py", "def nothing():\n    pass\n", "anna", f"a{number}")
    found = office.call("search_all", query="unheard words", kinds=["file"])
    assert found["results"] == []
    named = office.call("search_all", query="nothing", project="a8", kinds=["file"])
    assert [result["ref"] for result in named["results"]] == ["file:a8/x.py#L1-L2"]
    assert "notes" not in named or not any("likeliest" in note for note in named["notes"])

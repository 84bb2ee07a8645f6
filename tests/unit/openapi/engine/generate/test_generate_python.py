"""Generated Python: importable, clean under mypy, and understood by the generated Go server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from go_toolchain import environment, go, go_binary, write_module

from commonplace.openapi.engine.document.load import load
from commonplace.openapi.engine.generate.run import generate
from commonplace.openapi.model import Family

SERVER = """package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"example.com/generated/api"
)

type pets struct {
	api.UnimplementedServer
	last *api.Pet
}

func (p *pets) AddPet(_ context.Context, request api.AddPetRequest) (*api.AddPetResponse, error) {
	p.last = request.JSONBody
	return &api.AddPetResponse{JSON200: request.JSONBody}, nil
}

func (p *pets) GetPetByID(
	_ context.Context, request api.GetPetByIDRequest,
) (*api.GetPetByIDResponse, error) {
	p.last.ID = &request.PetID
	return &api.GetPetByIDResponse{JSON200: p.last}, nil
}

func (p *pets) FindPetsByTags(
	_ context.Context, request api.FindPetsByTagsRequest,
) (*api.FindPetsByTagsResponse, error) {
	var found []api.Pet
	for _, tag := range request.Tags {
		found = append(found, api.Pet{Name: tag})
	}
	return &api.FindPetsByTagsResponse{JSON200: found}, nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().String())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		os.Exit(0)
	}()
	panic(http.Serve(listener, api.NewHandler(&pets{})))
}
"""
CLIENT = """
import json, sys
from client import ApiError, Client, Credential
from client.models import Category, Pet

with_key = {"petstore_auth": Credential("token"), "api_key": Credential("key")}
client = Client(sys.argv[1], credentials=with_key)
pet = Pet(name="Rex & Söhne/1", photo_urls=["a,b"], category=Category(id=3, name="dog"))
assert client.add_pet(json_body=pet) == pet
found = client.get_pet_by_id(pet_id=77)
assert found.id == 77 and found.name == pet.name and found.category == pet.category
tags = ["a b", "c&d", "e,f"]
assert [one.name for one in client.find_pets_by_tags(tags=tags)] == tags
try:
    client.delete_order(order_id=1)
except ApiError as error:
    assert error.status_code == 501
else:
    raise SystemExit("no error")
try:
    Client(sys.argv[1]).get_pet_by_id(pet_id=1)
except ApiError as error:
    assert error.status_code == 401
else:
    raise SystemExit("no error")
print("TALKED")
"""


def write_package(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def check_mypy(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-3000:]


AWKWARD: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": 'a "quoted" \\ title', "version": "1"},
    "paths": {
        "/a/{class}": {
            "get": {
                "operationId": "import",
                "description": '"""\\n',
                "parameters": [
                    {"name": name, "in": "query", "schema": {"type": "string"}}
                    for name in ("self", "from", "str", "models", "a-b", "a_b")
                ],
                "responses": {
                    "200": {
                        "description": "ok",
                        "content": {
                            "application/json": {
                                "schema": {"type": "array", "items": {"type": "string"}}
                            }
                        },
                    }
                },
            },
            "post": {"operationId": "close", "responses": {"204": {"description": "none"}}},
        }
    },
    "components": {
        "schemas": {
            "Model": {
                "type": "object",
                "properties": {
                    name: {"type": "string"}
                    for name in (
                        "copy",
                        "json",
                        "model_config",
                        "date",
                        "int",
                        "class",
                        "a-b",
                        "a b",
                        "_x",
                    )
                },
            },
            "Any": {
                "type": "object",
                "properties": {
                    "date": {"type": "string", "format": "date"},
                    "datetime": {"type": "string", "format": "date-time"},
                },
            },
            "Tree": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
            "Union": {
                "oneOf": [
                    {"$ref": "#/components/schemas/Tree"},
                    {"type": "string"},
                    {"$ref": "#/components/schemas/Union"},
                ]
            },
            "E": {"type": "string", "enum": ["", "None", "mro", "1", "a-b", "a_b"]},
            "Text": {"type": "string"},
            "None": {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "properties": {"x": {"$ref": "#/components/schemas/None"}},
            },
        }
    },
}


def test_an_awkward_document_is_importable_and_clean(tmp_path: Path) -> None:
    write_package(
        tmp_path / "client", generate(AWKWARD, Family.V31, language="python", client=True).files
    )
    code = (
        "from client.models import Tree, Model; Model(**{'json': 'x'}); assert "
        "Tree.model_validate([[], [[]]]).model_dump() == [[], [[]]]"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    check_mypy(tmp_path)


@pytest.mark.oracle
@pytest.mark.soak
@pytest.mark.timeout(7000)
def test_real_documents_are_clean(tmp_path: Path, data: Path, soak: bool) -> None:
    large = (
        (
            "asana.yaml",
            "discord.json",
            "stripe.yaml",
            "kubernetes-swagger.json",
            "twilio-api-v2010.json",
            "github-api.json",
        )
        if soak
        else ()
    )
    for name in ("tictactoe-3.1.yaml", *large):
        document = load((data / "openapi/dev" / name).read_bytes())
        write_package(
            tmp_path / name / "client",
            generate(document.data, document.family, language="python", client=True).files,
        )
        check_mypy(tmp_path / name)


@pytest.mark.oracle
def test_the_python_client_talks_to_the_go_server(tmp_path: Path, data: Path) -> None:
    document = load((data / "openapi/dev/petstore-3.0.yaml").read_bytes())
    write_module(tmp_path / "go", {"main.go": SERVER})
    write_module(
        tmp_path / "go" / "api", generate(document.data, document.family, server=True).files
    )
    (tmp_path / "go" / "api" / "go.mod").unlink()
    go(tmp_path / "go", "build", "-o", "server", ".")
    write_package(
        tmp_path / "py" / "client",
        generate(document.data, document.family, language="python", client=True).files,
    )
    assert go_binary()
    server = subprocess.Popen(
        [str(tmp_path / "go" / "server")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, f"http://{address}"],
            cwd=tmp_path / "py",
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "TALKED" in done.stdout, done.stderr[-3000:]
    finally:
        server.kill()
        server.wait(timeout=20)


def test_generated_files_name_their_generator() -> None:
    for text in generate(
        json.loads(json.dumps(AWKWARD)), Family.V31, language="python", client=True
    ).files.values():
        assert text.startswith("# Code generated by commonplace. DO NOT EDIT.\n")


def _response(schema: Any) -> dict[str, Any]:
    return {"description": "d", "content": {"application/json": {"schema": schema}}}


ANSWERS: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "answers", "version": "1"},
    "paths": {
        "/text": {
            "get": {"operationId": "text", "responses": {"200": _response({"type": "string"})}}
        },
        "/octets": {
            "get": {
                "operationId": "octets",
                "responses": {"200": _response({"type": "string", "contentEncoding": "base64"})},
            }
        },
        "/maybe": {
            "get": {
                "operationId": "maybe",
                "responses": {"200": _response({"$ref": "#/components/schemas/Maybe"})},
            }
        },
        "/fail": {
            "get": {
                "operationId": "fail",
                "responses": {"200": _response({}), "default": _response({"type": "integer"})},
            }
        },
        "/upload": {
            "post": {
                "operationId": "upload",
                "requestBody": {
                    "required": True,
                    "content": {
                        "multipart/form-data": {"schema": {"$ref": "#/components/schemas/Upload"}}
                    },
                },
                "responses": {"200": _response({"$ref": "#/components/schemas/Bytes"})},
            }
        },
    },
    "components": {
        "schemas": {
            "Maybe": {"type": ["object", "null"], "properties": {"a": {"type": "string"}}},
            "Upload": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "format": "binary"},
                    "more": {"type": "array", "items": {"type": "string", "format": "binary"}},
                },
            },
            "Bytes": {
                "type": "object",
                "properties": {"data": {"type": "string", "format": "byte"}},
            },
        }
    },
}

ASKING = """
import json, httpx
from client import ApiError, Client
from client.models import Bytes2, Upload

uploaded = []

def answer(request):
    if request.url.path == "/upload":
        uploaded.append(request.content)
    bodies = {"/text": '"a b"', "/octets": '"aGk="', "/maybe": "null"}
    bodies["/upload"] = '{"data": "aGk="}'
    body = bodies.get(request.url.path)
    if body is None:
        return httpx.Response(502, text="<html>", headers={"Content-Type": "application/json"})
    return httpx.Response(200, text=body, headers={"Content-Type": "application/json"})

client = Client("http://a.example", http=httpx.Client(transport=httpx.MockTransport(answer)))
assert client.text() == "a b"
assert client.octets() == b"hi"
assert client.maybe() is None
try:
    client.fail()
except ApiError as error:
    assert (error.status_code, error.value, error.content) == (502, None, b"<html>")
else:
    raise AssertionError
upload = Upload(file=b"a text with words\\n", more=[b"abcd", b"\\xff\\x00"])
assert client.upload(body=upload) == Bytes2(data=b"hi")
parts = (b"\\r\\na text with words\\n\\r\\n", b"\\r\\nabcd\\r\\n", b"\\r\\n\\xff\\x00\\r\\n")
assert all(part in uploaded[0] for part in parts)
assert Bytes2(data=b"hi").model_dump_json() == '{"data":"aGk="}'
assert Bytes2.model_validate_json('{"data":"aGk="}').data == b"hi"
print("ANSWERED")
"""


def test_the_python_client_sends_bytes_as_they_are_and_reads_what_was_documented(
    tmp_path: Path,
) -> None:
    write_package(
        tmp_path / "client", generate(ANSWERS, Family.V31, language="python", client=True).files
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASKING],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "ANSWERED" in done.stdout, done.stderr[-3000:]
    check_mypy(tmp_path)


@pytest.mark.parametrize("language", ["go", "python"])
def test_schemas_may_refer_to_each_other_in_long_chains(language: Any) -> None:
    def link(number: int) -> dict[str, Any]:
        following = {"$ref": f"#/components/schemas/S{(number + 1) % 3000}"}
        return {
            "type": "object",
            "properties": {"next": following, "all": {"type": "array", "items": following}},
        }

    document = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {},
        "components": {"schemas": {f"S{number}": link(number) for number in range(3000)}},
    }
    assert generate(document, Family.V31, language=language).types == 3000

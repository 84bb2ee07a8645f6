"""A Go test that lets a generated client and a generated server talk: one case per operation,
made from the API's own schemas.
"""

from __future__ import annotations

import json
from typing import Any

from value_samples import Samples

from commonplace.openapi.engine.generate.go.operations import GoOperations
from commonplace.openapi.engine.generate.model import Api, Operation

DRIVER = """package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"testing"
)

type loopCase struct {
	Operation  string            `json:"operation"`
	Parameters []json.RawMessage `json:"parameters"`
	BodyIndex  int               `json:"body_index"`
	Body       json.RawMessage   `json:"body"`
	Status     string            `json:"status"`
	Code       int               `json:"code"`
	Kind       string            `json:"kind"`
	Content    json.RawMessage   `json:"content"`
}

type loopServer struct {
	request  any
	response any
}

func tree(t *testing.T, what string, value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return out
}

func compare(t *testing.T, what string, want json.RawMessage, got any) {
	var expected any
	if err := json.Unmarshal(want, &expected); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	actual := tree(t, what, got)
	if !reflect.DeepEqual(expected, actual) {
		text, _ := json.Marshal(actual)
		t.Errorf("%s:\\nwant %s\\ngot  %s", what, want, text)
	}
}

func fillRequest(t *testing.T, c loopCase, request requestValue) {
	for i, target := range request.parameters() {
		if i < len(c.Parameters) && string(c.Parameters[i]) != "null" {
			if err := json.Unmarshal(c.Parameters[i], target); err != nil {
				t.Fatalf("%s parameter %d: %v", c.Operation, i, err)
			}
		}
	}
	if c.BodyIndex >= 0 {
		if err := json.Unmarshal(c.Body, request.bodies()[c.BodyIndex]); err != nil {
			t.Fatalf("%s body: %v", c.Operation, err)
		}
	}
}

func fillResponse(t *testing.T, c loopCase, response responseValue) {
	response.info().StatusCode = c.Code
	for _, field := range response.fields() {
		if field.status == c.Status && field.kind == c.Kind && field.value != nil {
			if err := json.Unmarshal(c.Content, field.value); err != nil {
				t.Fatalf("%s response: %v", c.Operation, err)
			}
			return
		}
	}
	if c.Kind == "bytes" {
		response.info().Body = []byte("raw bytes")
	}
}

func checkRequest(t *testing.T, c loopCase, got requestValue) {
	for i, target := range got.parameters() {
		if i < len(c.Parameters) && string(c.Parameters[i]) != "null" {
			name := fmt.Sprintf("%s parameter %d as received", c.Operation, i)
			compare(t, name, c.Parameters[i], target)
		}
	}
	if c.BodyIndex >= 0 {
		compare(t, c.Operation+" body as received", c.Body, got.bodies()[c.BodyIndex])
	}
}

func checkResponse(t *testing.T, c loopCase, got responseValue) {
	if got.info().StatusCode != c.Code {
		t.Errorf("%s: status %d instead of %d", c.Operation, got.info().StatusCode, c.Code)
	}
	for _, field := range got.fields() {
		if field.status == c.Status && field.kind == c.Kind && field.value != nil {
			compare(t, c.Operation+" response as received", c.Content, field.value)
			return
		}
	}
	if c.Kind == "bytes" && string(got.info().Body) != "raw bytes" {
		t.Errorf("%s: raw body lost", c.Operation)
	}
}

func TestLoopback(t *testing.T) {
	data, err := os.ReadFile("cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []loopCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	server := &loopServer{}
	listener := httptest.NewServer(NewHandler(server))
	defer listener.Close()
	if address := os.Getenv("LOOPBACK_FOREVER"); address != "" {
		t.Fatal(http.ListenAndServe(address, NewHandler(server)))
	}
	options := []ClientOption{}
	for name := range securitySchemes {
		credential := Credential{Token: "token", Username: "user", Password: "secret"}
		options = append(options, WithCredential(name, credential))
	}
	client, err := NewClient(listener.URL, options...)
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, c := range cases {
		if err := callOne(t, client, server, c); err != nil {
			t.Errorf("%s: %v", c.Operation, err)
			continue
		}
		done++
	}
	fmt.Printf("LOOPBACK %d of %d operations\\n", done, len(cases))
}
"""


def driver(operations: GoOperations, api: Api, samples: Samples) -> tuple[str, str, dict[str, int]]:
    """The Go test file, the cases as JSON, and counts: operations, parameters, bodies, contents,
    samples that are not valid.
    """
    lines = [DRIVER]
    switch: list[str] = []
    cases: list[dict[str, Any]] = []
    counts = {"operations": 0, "parameters": 0, "bodies": 0, "contents": 0, "invalid": 0}
    for named in operations.named:
        lines += [
            (
                f"func (s *loopServer) {named.method}(_ context.Context, request {named.request}) "
                f"(*{named.response}, error) {{"
            ),
            "\ts.request = &request",
            f"\treturn s.response.(*{named.response}), nil",
            "}\n",
        ]
        switch += [
            f'\tcase "{named.method}":',
            f"\t\tvar request {named.request}",
            "\t\tfillRequest(t, c, &request)",
            f"\t\tresponse := &{named.response}{{}}",
            "\t\tfillResponse(t, c, response)",
            "\t\tserver.request, server.response = nil, response",
            f"\t\tgot, err := client.{named.method}(context.Background(), request)",
            "\t\tif err != nil {",
            "\t\t\treturn err",
            "\t\t}",
            "\t\tcheckRequest(t, c, server.request.(requestValue))",
            "\t\tcheckResponse(t, c, got)",
            "\t\treturn nil",
        ]
        cases.append(_case(named.method, named.operation, samples, counts))
    lines += [
        "func callOne(t *testing.T, client *Client, server *loopServer, c loopCase) error {",
        "\tswitch c.Operation {",
        *switch,
        "\t}",
    ]
    lines += ['\treturn fmt.Errorf("no such operation")', "}", ""]
    assert len(cases) == len(api.operations)
    return "\n".join(lines), json.dumps([case for case in cases if case["operation"]]), counts


def _case(
    method: str, operation: Operation, samples: Samples, counts: dict[str, int]
) -> dict[str, Any]:
    counts["operations"] += 1
    case: dict[str, Any] = {
        "operation": method,
        "parameters": [],
        "body_index": -1,
        "body": None,
        "status": "",
        "code": 0,
        "kind": "none",
        "content": None,
    }

    def made(schema: Any) -> tuple[Any, bool]:
        """A sample, and whether it is one: some schemas contradict themselves or need more than
        this maker knows.
        """
        valid = False
        for samples.first_wins in (False, True):
            value = samples.sample(schema)
            valid = samples.is_valid(schema, value)
            if valid:
                break
        counts["invalid"] += not valid
        return value, valid

    for parameter in operation.parameters:
        value, valid = made(parameter.schema)
        counts["parameters"] += valid
        if not valid and parameter.required:
            return {**case, "operation": ""}
        case["parameters"].append(value if valid else None)
    for index, body in enumerate(operation.bodies):
        if body.kind in ("json", "form", "multipart", "bytes"):
            value, valid = made(body.schema) if body.kind != "bytes" else ("AAH/", True)
            if body.kind == "form":
                value = _without_empty(value)
                valid = valid and samples.is_valid(body.schema, value)
            if valid:
                counts["bodies"] += 1
                case.update(body_index=index, body=value)
                break
            if operation.body_required:
                return {**case, "operation": ""}
    for response in operation.responses:
        if response.status[0] not in "2" or not response.status.isdigit():
            continue
        case.update(code=int(response.status), status=response.status)
        for body in response.contents:
            if body.kind in ("json", "text") and operation.method != "HEAD":
                value, valid = made(body.schema) if body.kind == "json" else ("plain text", True)
                if not valid:
                    return {**case, "operation": ""}
                counts["contents"] += 1
                case.update(kind=body.kind, content=value)
                break
        else:
            case["kind"] = "bytes" if response.contents and operation.method != "HEAD" else "none"
        return case
    case["code"] = 200
    return case


def _without_empty(value: Any) -> Any:
    """Without empty lists and objects, for which a form has no spelling."""
    if isinstance(value, list):
        return [_without_empty(member) for member in value]
    if not isinstance(value, dict):
        return value
    inner = {name: _without_empty(one) for name, one in value.items()}
    return {name: one for name, one in inner.items() if one not in ([], {})}

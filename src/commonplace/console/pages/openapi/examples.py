"""Documents to begin with."""

from __future__ import annotations

DOCUMENT = """openapi: 3.1.0
info:
  title: Pets
  version: 1.0.0
paths:
  /pets/{id}:
    get:
      operationId: getPet
      summary: One pet
      tags: [pets]
      responses:
        '200':
          description: The pet
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Pet'
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        name: {type: string}
        born: {type: string, format: date}
"""
OVERLAY = """overlay: 1.0.0
info:
  title: A description for everybody
  version: 1.0.0
actions:
  - target: $.info
    update:
      description: Published by the platform team.
"""

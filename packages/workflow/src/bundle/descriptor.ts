import { type Descriptor, END, type JsonSchema, START } from "../contract/contract.ts";
import type { WorkflowError } from "../contract/error.ts";
import { type JsonPath, showPath, toJson } from "../contract/json.ts";
import { isPlainObject, kindOf } from "../contract/show.ts";
import { isRounds, mostRounds } from "../control/control.ts";
import { compileSchema } from "./schema.ts";
import { badDescriptor } from "./errors.ts";

const maxDescriptorLength = 1 << 20;

/**
 * Checks a bundle's exported descriptor, and returns it as data: a deep copy with all of its keys. Compiles its JSON
 * Schemas once to check them.
 *
 * @throws WorkflowError `BAD_DESCRIPTOR`, with the path in the message: `descriptor.roles.planner.schema …`.
 */
export async function checkDescriptor(value: unknown): Promise<Descriptor> {
  const descriptor = toDescriptor(value);
  const { input, roles } = descriptor;
  if (input !== undefined) await checkSchema(input, ["input"]);
  for (const [name, { schema }] of Object.entries(roles)) {
    await checkSchema(schema, ["roles", name, "schema"]);
  }
  return descriptor;
}

async function checkSchema(schema: JsonSchema, path: JsonPath): Promise<void> {
  const compiled = await compileSchema(schema);
  if ("message" in compiled) throw bad([...path, ...compiled.path], compiled.message);
}

/** Checks a descriptor like {@link checkDescriptor}, but without compiling its schemas. */
export function toDescriptor(value: unknown): Descriptor {
  const descriptor = toData(value) as Descriptor;
  demand("an object", descriptor, []);
  const { description, maxRounds, strict, input, roles } = descriptor;
  if (maxRounds !== undefined && !isRounds(maxRounds)) {
    throw bad(["maxRounds"], `must be a whole number from 1 to ${mostRounds}`);
  }
  if (strict !== undefined) demand("a boolean", strict, ["strict"]);
  if (input !== undefined) demand("a JSON Schema (an object or a boolean)", input, ["input"]);
  demand("a string", description, ["description"]);
  demand("an object", roles, ["roles"]);
  for (const [name, role] of Object.entries(roles)) {
    const path = ["roles", name];
    checkRoleName(name, path);
    demand("an object", role, path);
    demand("a string", role.description, [...path, "description"]);
    demand("a JSON Schema (an object or a boolean)", role.schema, [...path, "schema"]);
  }
  return descriptor;
}

const kinds = {
  "an object": isPlainObject,
  "a boolean": (value: unknown) => typeof value === "boolean",
  "a string": (value: unknown) => typeof value === "string",
  "a JSON Schema (an object or a boolean)": (value: unknown) =>
    typeof value === "boolean" || isPlainObject(value),
};

function demand(kind: keyof typeof kinds, value: unknown, path: JsonPath): void {
  if (kinds[kind](value)) return;
  const found = value === undefined ? "and is missing" : `not ${kindOf(value)}`;
  throw bad(path, `must be ${kind}, ${found}`);
}

function checkRoleName(name: string, path: JsonPath): void {
  if (name === START || name === END) throw bad(path, "is a reserved role");
  if (name.trim() === "" || name.length > 200 || /\p{Cc}/u.test(name)) {
    throw bad(path, "must have a name of 1 to 200 characters without control characters");
  }
}

function toData(value: unknown): unknown {
  const written = toJson(value, "descriptor");
  if (!written.ok) throw badDescriptor(written.reason);
  if (written.json.length > maxDescriptorLength) throw bad([], "is larger than 1 MiB");
  return JSON.parse(written.json, (key, item: unknown) => {
    if (key === "__proto__") throw bad([], "has a key __proto__");
    const isWhole = key.isWellFormed() && (typeof item !== "string" || item.isWellFormed());
    if (!isWhole) throw bad([], `has a lone surrogate at ${JSON.stringify(key)}`);
    return item;
  });
}

const bad = (path: JsonPath, message: string): WorkflowError =>
  badDescriptor(`${showPath("descriptor", path)} ${message}`);

import { type Descriptor, END, type JsonSchema, START } from "../contract/contract.ts";
import { messageOf, WorkflowError } from "../contract/error.ts";
import { toJson } from "../contract/json.ts";
import { isPlainObject, kindOf } from "../contract/show.ts";
import { isRounds, mostRounds } from "../control/control.ts";
import { type JsonPath, compileSchema, showPath } from "./schema.ts";

/** The longest descriptor, in characters of JSON. */
export const maxDescriptorLength = 1 << 20;

/**
 * The descriptor that a bundle exports, as data: a deep copy, its JSON Schemas compiled once.
 *
 * Keys that the contract does not name are kept.
 * @throws WorkflowError `BAD_DESCRIPTOR`, naming the path: `descriptor.roles.planner.schema …`.
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

/**
 * As {@link checkDescriptor}, without compiling the schemas.
 *
 * @throws WorkflowError `BAD_DESCRIPTOR`.
 */
export function toDescriptor(value: unknown): Descriptor {
  const whole = toData(value);
  const { description, roles, ...rest } = object(whole, []);
  if (rest.maxRounds !== undefined && !isRounds(rest.maxRounds)) {
    throw bad(["maxRounds"], `must be a whole number from 1 to ${mostRounds}`);
  }
  const input = rest.input === undefined ? {} : { input: jsonSchema(rest.input, ["input"]) };
  return {
    ...rest,
    ...input,
    description: text(description, ["description"]),
    roles: checkRoles(roles),
  };
}

/** The descriptor as the YAML text beside its bundle. */
export async function descriptorYaml(descriptor: Descriptor): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(descriptor, { aliasDuplicateObjects: false, lineWidth: 100 });
}

/**
 * The descriptor that a YAML text holds; `file` is named in errors.
 *
 * @throws WorkflowError `BAD_DESCRIPTOR`, with line and column when the text is no YAML.
 */
export async function readDescriptor(yaml: string, file: string): Promise<Descriptor> {
  const { LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw broken(file, `${file}:${line}:${col}: ${messageOf(error)}`);
  }
  try {
    return toDescriptor(document.toJS());
  } catch (problem) {
    throw broken(file, `${file}: ${messageOf(problem)}`);
  }
}

function toData(value: unknown): unknown {
  const written = toJson(value, "descriptor");
  if (!written.ok) throw badAt(written.reason);
  if (written.json.length > maxDescriptorLength) throw bad([], "is larger than 1 MiB");
  return JSON.parse(written.json, (key, item: unknown) => {
    if (key === "__proto__") throw bad([], "has a key __proto__");
    const isWhole = key.isWellFormed() && (typeof item !== "string" || item.isWellFormed());
    if (!isWhole) throw bad([], `holds half of a surrogate pair at ${JSON.stringify(key)}`);
    return item;
  });
}

function checkRoles(value: unknown): Descriptor["roles"] {
  const roles = object(value, ["roles"]);
  return Object.fromEntries(
    Object.entries(roles).map(([name, role]) => {
      const path = ["roles", name];
      checkRoleName(name, path);
      const { description, schema, ...rest } = object(role, path);
      return [
        name,
        {
          ...rest,
          description: text(description, [...path, "description"]),
          schema: jsonSchema(schema, [...path, "schema"]),
        },
      ];
    }),
  );
}

function checkRoleName(name: string, path: JsonPath): void {
  if (name === START || name === END) throw bad(path, "is a reserved role");
  if (name.trim() === "" || name.length > 200 || /\p{Cc}/u.test(name)) {
    throw bad(path, "a role's name must be 1 to 200 characters, none of them a control character");
  }
}

function object(value: unknown, path: JsonPath): Record<string, unknown> {
  if (isPlainObject(value)) return value;
  throw bad(path, `must be an object, ${butIs(value)}`);
}

function text(value: unknown, path: JsonPath): string {
  if (typeof value === "string") return value;
  throw bad(path, `must be a string, ${butIs(value)}`);
}

function jsonSchema(value: unknown, path: JsonPath): JsonSchema {
  if (typeof value === "boolean" || isPlainObject(value)) return value;
  throw bad(path, `must be a JSON Schema (an object or a boolean), ${butIs(value)}`);
}

const butIs = (value: unknown) => (value === undefined ? "and is missing" : `not ${kindOf(value)}`);

const bad = (path: JsonPath, message: string): WorkflowError =>
  badAt(`${showPath(["descriptor", ...path])} ${message}`);

function badAt(message: string): WorkflowError {
  return new WorkflowError({
    code: "BAD_DESCRIPTOR",
    message: message.slice(0, 2000),
    hint: "a descriptor is plain data: {description, roles: {name: {description, schema}}}",
  });
}

function broken(file: string, message: string): WorkflowError {
  return new WorkflowError({
    code: "BAD_DESCRIPTOR",
    message,
    hint: `add the bundle again to write ${file} anew`,
  });
}

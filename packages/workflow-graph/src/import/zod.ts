import { plainText, type Value } from "./script.ts";
import { shown } from "./draft.ts";

/** Returns the JSON Schema of a Zod object in generated code; null for any other value. */
export function schemaIn(
  value: Value,
  leave: (message: string) => void,
): Record<string, unknown> | null {
  const schema = shapeOf(value, leave);
  return schema?.type === "object" ? schema : null;
}

type Schema = Record<string, unknown>;

const simple: Readonly<Record<string, Schema>> = {
  "z.string": { type: "string" },
  "z.number": { type: "number" },
  "z.int": { type: "integer" },
  "z.boolean": { type: "boolean" },
  "z.any": {},
  "z.unknown": {},
};

function shapeOf(value: Value, leave: (message: string) => void): Schema | null {
  const [made, ...modifiers] = value.kind === "call" ? value.calls : [];
  if (!made) {
    leave(`not a Zod schema: ${value.kind === "code" ? shown(value.source) : value.kind}`);
    return null;
  }
  const base = baseOf(made.name, made.given, leave);
  if (base === null) {
    leave(`the schema ${shown(made.name)}`);
    return {};
  }
  return modifiers.reduce<Schema>((schema, { name, given }) => {
    const [first] = given;
    if (name === "nullable") return { anyOf: [schema, { type: "null" }] };
    if (name === "optional") return schema;
    if (name === "describe" && first?.kind === "text")
      return { ...schema, description: plainText(first) };
    if (name === "int") return { ...schema, type: "integer" };
    const limits: Readonly<Record<string, readonly [string, string]>> = {
      min: ["minimum", "minLength"],
      max: ["maximum", "maxLength"],
    };
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    if (limit && first?.kind === "literal")
      return { ...schema, [limit[schema.type === "string" ? 1 : 0]]: first.value };
    leave(`.${shown(name)}() of a schema`);
    return schema;
  }, base);
}

function baseOf(
  name: string,
  given: readonly Value[],
  leave: (message: string) => void,
): Schema | null {
  const [first] = given;
  if (Object.hasOwn(simple, name)) return { ...simple[name] };
  if (name === "z.enum" && first?.kind === "list") {
    const values = first.items.flatMap((item) => (item.kind === "text" ? plainText(item) : []));
    return { type: "string", enum: values };
  }
  if (name === "z.literal" && (first?.kind === "text" || first?.kind === "literal"))
    return { const: first.kind === "text" ? plainText(first) : first.value };
  if (name === "z.array" && first) return { type: "array", items: shapeOf(first, leave) ?? {} };
  if (name !== "z.object" || first?.kind !== "object") return null;
  const properties = [...first.entries].map(
    ([key, one]) => [key, shapeOf(one, leave) ?? {}] as const,
  );
  const isOptional = (one: Value) =>
    one.kind === "call" && one.calls.some((call) => call.name === "optional");
  const required = [...first.entries].flatMap(([key, one]) => (isOptional(one) ? [] : [key]));
  return { type: "object", properties: Object.fromEntries(properties), required };
}

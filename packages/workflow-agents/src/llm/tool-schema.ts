import { isObject } from "../run/error.ts";

type Schema = Record<string, unknown>;

const listsOfSchemas = ["anyOf", "oneOf", "allOf", "prefixItems"];
const mapsOfSchemas = [
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
];
const schemas = ["items", "additionalProperties", "not", "if", "then", "else", "contains"];

/**
 * Returns a tool's JSON Schema as services require it: an object with properties and without a union, `enum` or `not`
 * at the root, and with items for each list. Properties in a union at the root move to the root. The tool itself checks
 * the rest.
 */
export function completeSchema(schema: unknown): Schema {
  const root = complete(isObject(schema) ? schema : {});
  const whole = isObject(root) ? rootOf(root, root, []) : {};
  const { required } = whole;
  delete whole.enum;
  delete whole.not;
  const isList = Array.isArray(required) && required.every((name) => typeof name === "string");
  if (required !== undefined && !isList) delete whole.required;
  return {
    ...whole,
    type: "object",
    properties: isObject(whole.properties) ? whole.properties : {},
  };
}

/** Merges the properties in a union or reference at the root into the root. */
function rootOf(schema: Schema, root: Schema, path: readonly unknown[]): Schema {
  const { $ref, anyOf, oneOf, allOf, ...own } = schema;
  const target = $ref === undefined ? null : localOf($ref, root);
  if (target === null && [anyOf, oneOf, allOf].every((one) => one === undefined)) return own;
  const parts = (list: unknown): Schema[] =>
    (Array.isArray(list) ? list : []).filter(isObject).flatMap((one) => {
      const isSeen = path.includes(one);
      return isSeen ? [] : [rootOf(one, root, [...path, one])];
    });
  const choices = [...parts(anyOf), ...parts(oneOf)];
  const all = [...parts(allOf), ...parts(target === null ? [] : [target])];
  const properties = [...choices, ...all, own].map(({ properties: one }) =>
    isObject(one) ? one : {},
  );
  const names = ({ required }: Schema): unknown[] => (Array.isArray(required) ? required : []);
  const shared = names(choices[0] ?? {}).filter((name) =>
    choices.every((one) => names(one).includes(name)),
  );
  const required = new Set([...names(own), ...all.flatMap(names), ...shared]);
  return {
    ...Object.assign({}, ...all),
    ...own,
    properties: Object.assign({}, ...properties) as Schema,
    ...(required.size > 0 && { required: [...required] }),
  };
}

function localOf($ref: unknown, root: Schema): Schema | null {
  const [, kind = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String($ref)) ?? [];
  const list = root[kind];
  const found = isObject(list) && Object.hasOwn(list, name) ? list[name] : null;
  return isObject(found) ? found : null;
}

/**
 * Returns a schema with items for lists and properties for objects, at any depth. Returns a complete schema unchanged.
 */
function complete(schema: unknown): unknown {
  if (schema === true) return {};
  if (!isObject(schema)) return schema;
  const types = [schema.type].flat();
  const lacksItems =
    types.includes("array") && schema.items === undefined && schema.prefixItems === undefined;
  const lacksProperties = types.includes("object") && !isObject(schema.properties);
  let next: Schema = {
    ...schema,
    ...(lacksItems && { items: {} }),
    ...(lacksProperties && { properties: {} }),
  };
  let isChanged = lacksItems || lacksProperties;
  const put = (key: string, value: unknown): void => {
    if (value === next[key]) return;
    next = { ...next, [key]: value };
    isChanged = true;
  };
  for (const key of listsOfSchemas) {
    const list = next[key];
    if (Array.isArray(list)) put(key, same(list, list.map(complete)));
  }
  for (const key of mapsOfSchemas) {
    const map = next[key];
    if (!isObject(map)) continue;
    const values = Object.values(map);
    const completed = values.map(complete);
    if (completed.some((one, at) => one !== values[at])) {
      put(key, Object.fromEntries(Object.keys(map).map((name, at) => [name, completed[at]])));
    }
  }
  for (const key of schemas) {
    // `true` is also a valid schema.
    if (isObject(next[key])) put(key, complete(next[key]));
  }
  return isChanged ? next : schema;
}

const same = (list: unknown[], next: unknown[]): unknown[] =>
  next.every((one, at) => one === list[at]) ? list : next;

import { type Schema, Validator } from "@cfworker/json-schema";
import type { OutputConfig } from "../adapter/adapter.ts";
import { LLMError, messageOf } from "../adapter/error.ts";
import { failure } from "../document/document.ts";
import type { RegistryDocument } from "../document/format.ts";
import {
  adapterOf,
  archivePath,
  badField,
  type Call,
  type Called,
  fieldOf,
  pathFromRoot,
  recordField,
  textField,
  untilAborted,
} from "./call.ts";
import { isPlain } from "../expression/value.ts";

/**
 * Unpacks the archive at `source`. A file goes, with its folders in the archive, into the folder that
 * `routeByExt` names for its ending (`{"png": "images"}`), else into `defaultDir`, else under the root.
 * With `overwrite: false` a file that is there stays. `_result` is `{files, skipped}`, lists of paths.
 *
 * @throws WorkflowError `UNZIP_OUTSIDE` for an archive with a path that leads out; nothing is written.
 */
export async function callUnzip(call: Call): Promise<Called> {
  const source = textField(call, "source");
  if (source === undefined) throw badField(call, "it has no source");
  const adapter = adapterOf(call, "file");
  const unzip = adapter.unzip?.bind(adapter);
  if (!unzip) throw badField(call, "the adapter file can't unpack archives: it has no unzip");
  const routes = routesOf(call);
  const archive = await untilAborted(call.signal, () => unzip(archivePath(call, source)));
  const plan = archive.map(({ path, data }) => ({ path: routes(checked(call, path)), data }));
  const overwrite = fieldOf(call, "overwrite") !== false;
  const files: string[] = [];
  const skipped: string[] = [];
  for (const { path, data } of plan) {
    call.signal.throwIfAborted();
    if (!overwrite && (await adapter.exists(archivePath(call, path)))) skipped.push(path);
    else {
      await call.writeFile(path, data, "overwrite");
      files.push(path);
    }
  }
  return { locals: { _result: { files, skipped } } };
}

/** Where a file of the archive goes. */
function routesOf(call: Call): (path: string) => string {
  const folder = textField(call, "defaultDir") ?? "";
  const routes = Object.entries(recordField(call, "routeByExt") ?? {}).map(([ending, to]) => {
    if (typeof to !== "string") throw badField(call, `its routeByExt has no folder for ${ending}`);
    return [ending.replace(/^\./, "").toLowerCase(), to] as const;
  });
  const byEnding = new Map(routes);
  return (path) => {
    const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
    const into = pathFromRoot(byEnding.get(ending) ?? folder).replace(/\/+$/, "");
    return into === "" ? path : `${into}/${path}`;
  };
}

function checked({ step }: Call, given: string): string {
  const path = given.replace(/^(\.\/)+/, "");
  const parts = path.split(/[\\/]/);
  const leadsOut = parts.some((part) => part === ".." || part === "." || part === "");
  if (!leadsOut && !/^[A-Za-z]:/.test(path) && !path.includes("\0")) return path;
  throw failure(
    "UNZIP_OUTSIDE",
    `${step.id}: the archive has the path ${JSON.stringify(path.slice(0, 200))}, which leads out`,
    "do not trust this archive: nothing of it was written",
  );
}

/**
 * The form that a model's answer must have, from `output_config`: flat, or nested in `format`. The
 * schema that `schemaRef` names is put in.
 *
 * @throws LLMError `bad_request`
 */
export function formOf(
  config: unknown,
  schemas: RegistryDocument["schemas"],
  stepID: string,
): OutputConfig | null {
  if (config === undefined || config === null) return null;
  const flat = isPlain(config) && isPlain(config.format) ? config.format : config;
  const bad = (what: string) => badForm(`${stepID}: output_config ${what}`);
  if (!isPlain(flat)) throw bad("is no object");
  const { schemaRef } = flat;
  const { schema = schemaRef === undefined ? undefined : schemaOf(schemaRef, schemas, bad) } = flat;
  if (schemaRef !== undefined && flat.schema !== undefined) {
    throw bad("has a schema and a schemaRef");
  }
  const { type = schema === undefined ? "text" : "json_schema" } = flat;
  if (type === "text" || type === "json_object") return { type };
  if (type !== "json_schema") throw bad(`has the unknown type ${JSON.stringify(type)}`);
  if (!isPlain(schema)) throw bad("asks for a json_schema and has no schema");
  return { type, schema, ...(typeof schemaRef === "string" && { schemaRef }) };
}

function schemaOf(
  ref: unknown,
  schemas: RegistryDocument["schemas"] = {},
  bad: (what: string) => LLMError,
): unknown {
  if (typeof ref === "string" && Object.hasOwn(schemas, ref)) return schemas[ref];
  throw bad(`names the schema ${JSON.stringify(ref)}, which the registry does not have`);
}

const badForm = (message: string): LLMError =>
  new LLMError("bad_request", message, { code: "BAD_OUTPUT_CONFIG" });

// One fence around the whole answer: models put it there now and then.
const fence = /^\s*```[\w-]*[^\S\n]*\n([\s\S]*?)\n?[^\S\n]*```\s*$/;

/**
 * A model's answer in the form that was asked for. An adapter may have read the JSON itself.
 *
 * @throws LLMError `json_parse_error`, `schema_validation_error`; `bad_request` when the schema is none.
 */
export function formed(content: unknown, form: OutputConfig | null): unknown {
  if (form === null || form.type === "text") return content;
  const value = typeof content === "string" ? parsed(content) : content;
  if (form.type === "json_schema" && form.schema) checkSchema(value, form.schema);
  else if (typeof value !== "object" || value === null) {
    throw new LLMError("json_parse_error", `the answer is JSON, but no object: ${start(content)}`);
  }
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(fence.exec(text)?.[1] ?? text);
  } catch {
    throw new LLMError("json_parse_error", `the answer is no JSON: ${start(text)}`);
  }
}

const start = (content: unknown): string => {
  const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "nothing");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

const mostFaults = 5;

function checkSchema(value: unknown, schema: object): void {
  const violations = faultsOf(value, schema);
  if (violations.length === 0) return;
  const more = violations.length > mostFaults ? `; and ${violations.length - mostFaults} more` : "";
  const message = `the answer does not fit its schema: ${violations.slice(0, mostFaults).join("; ")}`;
  throw new LLMError("schema_validation_error", message + more);
}

function faultsOf(value: unknown, schema: object): string[] {
  try {
    const draft = /draft-0?([47])/.exec(String((schema as Schema).$schema))?.[1] as "4" | "7";
    // The copy is marked by the validator, and the workflow's schema stays as it is.
    const copy = structuredClone(schema) as Schema;
    const { errors } = new Validator(copy, draft ?? "2020-12", false).validate(value);
    // That something below is wrong is no information.
    const shown = errors.filter(({ keyword }) => !wrapping.has(keyword));
    return (shown.length > 0 ? shown : errors).map(
      ({ instanceLocation, error }) => `${instanceLocation.replace(/^#/, "") || "/"}: ${error}`,
    );
  } catch (error) {
    const message = `the schema of the answer can't be used: ${messageOf(error)}`;
    throw new LLMError("bad_request", message, { code: "BAD_SCHEMA" });
  }
}

const wrapping = new Set(["properties", "items", "prefixItems", "additionalProperties", "$ref"]);

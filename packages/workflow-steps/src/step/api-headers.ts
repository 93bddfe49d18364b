import { LLMError } from "../adapter/error.ts";
import type { ApiDocument } from "../document/document.ts";
import type { Call } from "./call.ts";
import { badField, recordField } from "./field.ts";
import { isRecord } from "./plain.ts";

/**
 * The headers of an API call, their names in small letters: those of the registry, its `auth`, then
 * those of the step. In the registry's texts `${NAME}` is a variable of the run's environment, so that
 * no secret stands in a workflow.
 *
 * @throws LLMError `auth_error` for a variable that is not set, `bad_request` for what is no header.
 */
export function headersOf(call: Call, api: ApiDocument): Record<string, string> {
  const own = Object.entries(api.headers ?? {}).map(([name, value]) => [
    name,
    expanded(call, textOf(call, name, value)),
  ]);
  const given = Object.entries(recordField(call, "headers") ?? {}).map(([name, value]) => [
    name,
    textOf(call, name, value),
  ]);
  const all = [...own, ...authOf(call, api), ...given] as [string, string][];
  return Object.fromEntries(all.map(([name, value]) => [name.toLowerCase(), value]));
}

function textOf({ value, step }: Call, name: string, given: unknown): string {
  const text = value(given);
  if (typeof text === "string" || typeof text === "number") return String(text);
  throw new LLMError("bad_request", `${step.id}: its header ${name} is no text`);
}

function expanded({ env, step }: Call, text: string): string {
  return text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const found = Object.hasOwn(env, name) ? env[name] : undefined;
    if (found) return found;
    const message = `${step.id}: the variable ${name}, which its API needs, is not set`;
    throw new LLMError("auth_error", message, { code: "ENV_MISSING" });
  });
}

/**
 * `auth` of an API: the Authorization header as text, or `{type: "bearer", token}`, `{type: "basic",
 * username, password}` or `{type: "header", name, value}`.
 */
function authOf(call: Call, { auth }: ApiDocument): [string, string][] {
  const given = call.value(auth);
  if (given === undefined || given === null || given === "") return [];
  if (typeof given === "string") return [["authorization", expanded(call, given)]];
  if (!isRecord(given)) throw badField(call, "the auth of its API is no text and no object");
  const part = (name: string): string => {
    const text = call.value(given[name]);
    if (typeof text === "string") return expanded(call, text);
    throw badField(call, `the auth of its API has no ${name}`);
  };
  if (given.type === "bearer") return [["authorization", `Bearer ${part("token")}`]];
  if (given.type === "header") return [[part("name"), part("value")]];
  if (given.type === "basic") {
    const bytes = new TextEncoder().encode(`${part("username")}:${part("password")}`);
    return [["authorization", `Basic ${btoa(String.fromCharCode(...bytes))}`]];
  }
  throw badField(call, "the auth of its API has none of the types bearer, basic and header");
}

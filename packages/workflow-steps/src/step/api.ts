import type { ApiAdapter, ApiRequest } from "../adapter/adapter.ts";
import { LLMError, typeOfStatus } from "../adapter/error.ts";
import { failure, nameOf } from "../document/document.ts";
import type { ApiDocument } from "../document/format.ts";
import { outEntries } from "../target/target.ts";
import {
  adapterOf,
  badField,
  type Call,
  type Called,
  fieldOf,
  pathFromRoot,
  plain,
  recordField,
  summary,
  textField,
  timeoutField,
  untilAborted,
} from "./call.ts";
import { isPlain } from "../expression/value.ts";

type Answer = Awaited<ReturnType<ApiAdapter["request"]>>;

/**
 * Calls an endpoint of the registry with `body`, `query`, `pathParams`, `headers` and `timeout` (ms) of
 * the step's `in`. `_result` is the answer's data, `_meta` its status and headers.
 *
 * @throws LLMError of the status' type when the status is 400 or more.
 */
export async function callApi(call: Call): Promise<Called> {
  const api = apiOf(call);
  const timeout = timeoutField(call);
  const query = recordField(call, "query");
  const body = fieldOf(call, "body");
  const { status, headers, data } = await answerOf(call, {
    id: api.id,
    method: (api.method ?? "GET").toUpperCase(),
    url: urlOf(call, String(call.value(api.url))),
    headers: headersOf(call, api),
    ...(query && { query }),
    ...(body !== undefined && { body }),
    ...(timeout !== undefined && { timeout }),
    signal: call.signal,
  });
  if (data instanceof Uint8Array) {
    throw badField(call, `${api.id} answered with bytes: fetch them with a Download step`);
  }
  const _result = plain(data, `the API ${api.id}`);
  return { locals: { _result, _meta: plain({ status, headers }, `the API ${api.id}`) } };
}

/**
 * What an API adapter answers to a request.
 * @throws LLMError of the status' type when the status is 400 or more.
 */
async function answerOf(call: Call, request: ApiRequest): Promise<Answer> {
  const api = adapterOf(call, "api");
  const answer = await untilAborted(call.signal, () => api.request(request));
  const { status } = answer;
  if (!(status >= 400)) return answer;
  const body = answer.data instanceof Uint8Array ? "" : summary(answer.data);
  const message = `${request.id} answered ${status}${body && `: ${body}`}`;
  throw new LLMError(typeOfStatus(status), message, { code: `HTTP_${status}`, status });
}

function apiOf({ registry, step }: Call): ApiDocument {
  const apis = registry.apis ?? [];
  const id = nameOf(
    step.id,
    apis.map((one) => one.id),
  );
  const api = apis.find((one) => one.id === id);
  if (api) return api;
  throw failure(
    "API_UNKNOWN",
    `${step.id}: the registry has no API ${id}`,
    `declare it in registry.apis: {"id": "${id}", "method": "GET", "url": "https://…"}`,
  );
}

// `{name}` anywhere, or a whole segment `:name`; the colon of a port or a scheme is neither.
const place = /\{(\w+)\}|(?<=\/):([A-Za-z_]\w*)/g;

function urlOf(call: Call, url: string): string {
  const params = recordField(call, "pathParams") ?? {};
  return url.replace(place, (_, braced?: string, colon?: string) => {
    const name = braced ?? colon ?? "";
    const given = Object.hasOwn(params, name) ? params[name] : undefined;
    if (typeof given === "string" && given !== "") return segment(call, name, given);
    if (typeof given === "number" || typeof given === "boolean") return String(given);
    throw badField(call, `its pathParams have no ${name}`);
  });
}

function segment(call: Call, name: string, given: string): string {
  // A URL takes these for steps up, however they are written.
  if (given === "." || given === "..")
    throw badField(call, `its pathParams lead away with ${name}`);
  return encodeURIComponent(given);
}

/**
 * The headers of an API call, their names in small letters: those of the registry, its `auth`, then
 * those of the step. In the registry's texts `${NAME}` is a variable of the run's environment, so that
 * no secret is in a workflow.
 *
 * @throws LLMError `auth_error` for a variable that is not set, `bad_request` for what is no header.
 */
function headersOf(call: Call, api: ApiDocument): Record<string, string> {
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
  if (!isPlain(given)) throw badField(call, "the auth of its API is no text and no object");
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

/**
 * Fetches the URL in `source` through the API adapter. With a `target` the file is written there and
 * `_result` is `{path, size_bytes, content_type}`; without one `_result` is its text, or its bytes
 * (`Uint8Array`) when it is no text, which only a file target of `out` can take.
 */
export async function callDownload(call: Call): Promise<Called> {
  const url = sourceUrl(call);
  const target = textField(call, "target");
  const timeout = timeoutField(call);
  const { status, headers, data } = await answerOf(call, {
    id: call.step.id,
    method: "GET",
    url,
    headers: sourceHeaders(call),
    bytes: true,
    ...(timeout !== undefined && { timeout }),
    signal: call.signal,
  });
  const bytes = data instanceof Uint8Array ? data : encoded(data);
  const content_type = headers["content-type"] ?? null;
  const _meta = plain({ status, headers, content_type, size_bytes: bytes.length }, "the download");
  if (target === undefined) return { locals: { _result: resultOf(call, bytes), _meta } };
  const path = pathFromRoot(target);
  await call.writeFile(path, bytes, "overwrite");
  return { locals: { _result: { path, size_bytes: bytes.length, content_type }, _meta } };
}

function resultOf(call: Call, bytes: Uint8Array): string | Uint8Array {
  const text = decoded(bytes);
  if (typeof text === "string") return text;
  const wanted = outEntries(call.step.out).find(
    ([target, value]) => target.startsWith("$") && String(value).includes("_result"),
  );
  if (!wanted) return bytes;
  throw badField(call, `what it fetched is no text for ${wanted[0]}: give it a target`);
}

function sourceUrl(call: Call): string {
  const source = textField(call, "source");
  if (source === undefined) throw badField(call, "it has no source");
  if (/^https?:/i.test(source) && URL.canParse(source)) return source;
  throw badField(call, `its source is no http address: ${JSON.stringify(source.slice(0, 200))}`);
}

const sourceHeaders = (call: Call): Record<string, string> =>
  Object.fromEntries(
    Object.entries(recordField(call, "headers") ?? {}).map(([name, value]) => {
      if (typeof value === "string") return [name.toLowerCase(), value];
      throw badField(call, `its header ${name} is no text`);
    }),
  );

const encoded = (data: unknown): Uint8Array =>
  new TextEncoder().encode(typeof data === "string" ? data : JSON.stringify(data ?? ""));

function decoded(bytes: Uint8Array): string | Uint8Array {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? bytes : text;
  } catch {
    return bytes;
  }
}

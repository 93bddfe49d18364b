import type { ApiAdapter, ApiRequest } from "../adapter/adapter.ts";
import { nameOf } from "../document/document.ts";
import type { ApiDocument } from "../document/format.ts";
import { isPlain } from "../expression/value.ts";
import { ask, type Call, type Called, fieldOf, plain, summary, typedField } from "./call.ts";
import {
  badAPIURL,
  badAuth,
  badAuthType,
  badHeader,
  bytesFromAPI,
  dotPathParam,
  failedStatus,
  missingAuth,
  missingPathParam,
  noResponse,
  unknownAPI,
  unsetVariable,
} from "./errors.ts";

/**
 * Calls an endpoint of the registry with `body`, `query`, `pathParams`, `headers` and `timeout` (in milliseconds) from
 * the step's `in`. `_result` is the response's data, `_meta` its status and headers.
 */
export async function callApi(call: Call): Promise<Called> {
  const api = apiOf(call);
  const query = typedField(call, "object", "query");
  const body = fieldOf(call, "body");
  const { status, headers, data } = await answerOf(call, {
    id: api.id,
    method: (api.method ?? "GET").toUpperCase(),
    url: urlOf(call, addressOf(call, api)),
    ...headersOf(call, api),
    ...(query && { query }),
    ...(body !== undefined && { body }),
  });
  if (data instanceof Uint8Array) throw bytesFromAPI(call.step.id, api.id);
  const _result = plain(data, `the API ${api.id}`);
  return { locals: { _result, _meta: plain({ status, headers }, `the API ${api.id}`) } };
}

type Answer = Awaited<ReturnType<ApiAdapter["request"]>>;

/** Sends a request within the step's `timeout`. Throws for a status of 400 or more. */
export async function answerOf(
  call: Call,
  request: Omit<ApiRequest, "signal" | "timeout">,
): ReturnType<ApiAdapter["request"]> {
  const { signal } = call;
  const timeout = typedField(call, "time", "timeout");
  const answer: Partial<Answer> | null = await ask(call, "api", (api) =>
    api.request({ ...request, ...(timeout !== undefined && { timeout }), signal }),
  );
  if (typeof answer !== "object" || answer === null) throw noResponse(request.id);
  const { data = null } = answer;
  const status = answer.status ?? 200;
  const headers = answer.headers ?? {};
  if (!(status >= 400)) return { status, headers, data };
  const body = data instanceof Uint8Array ? "" : summary(data);
  throw failedStatus(request.id, status, body);
}

function apiOf({ registry, step }: Call): ApiDocument {
  const apis = registry.apis ?? [];
  const ids = apis.map((one) => one.id);
  const id = nameOf(step.id, ids);
  const api = apis.find((one) => one.id === id);
  if (api) return api;
  throw unknownAPI(step.id, id);
}

function addressOf(call: Call, api: ApiDocument): string {
  const url = call.value(api.url);
  if (typeof url === "string") return url;
  throw badAPIURL(call.step.id);
}

// Matches `{name}` anywhere, and `:name` as a whole segment, but not the colon of a port or a scheme.
const place = /\{(\w+)\}|(?<=\/):([A-Za-z_]\w*)/g;

function urlOf(call: Call, url: string): string {
  const params = typedField(call, "object", "pathParams") ?? {};
  return url.replace(place, (_, braced?: string, colon?: string) => {
    const name = braced ?? colon ?? "";
    const given = Object.hasOwn(params, name) ? params[name] : undefined;
    if (typeof given === "number" || typeof given === "boolean") return String(given);
    if (typeof given !== "string" || given === "") throw missingPathParam(call.step.id, name);
    // URLs resolve dot segments even if they are escaped.
    if (given !== "." && given !== "..") return encodeURIComponent(given);
    throw dotPathParam(call.step.id, name);
  });
}

/**
 * Returns the headers of an API call with lower-case names: from the registry, from its `auth`, then from the step.
 * `${NAME}` in a registry header is a variable of the run's environment, so that workflows contain no secrets. Such a
 * header and `auth` are credentials.
 */
function headersOf(
  call: Call,
  api: ApiDocument,
): Pick<ApiRequest, "headers"> & { hasCredential?: boolean } {
  const fields = Object.entries(api.headers ?? {}).map(([name, field]) => [
    name,
    call.value(field),
  ]);
  const own = headersIn(call, Object.fromEntries(fields));
  const given = headersIn(call, typedField(call, "object", "headers"));
  const auth = authOf(call, api);
  const hasCredential = auth.length > 0 || own.some(([, text]) => variable.test(text));
  const headers = Object.fromEntries([
    ...own.map(([name, text]) => [name, expanded(call, text)]),
    ...auth,
    ...given,
  ]) as Record<string, string>;
  return { headers, ...(hasCredential && { hasCredential }) };
}

export function headersIn(call: Call, given: object = {}): [name: string, value: string][] {
  return Object.entries(given).map(([name, text]: [string, unknown]) => {
    if (typeof text === "string" || typeof text === "number") {
      return [name.toLowerCase(), String(text)];
    }
    throw badHeader(call.step.id, name);
  });
}

const variable = /\$\{(\w+)\}/;

function expanded({ env, step }: Call, text: string): string {
  return text.replaceAll(new RegExp(variable, "g"), (_, name: string) => {
    const found = Object.hasOwn(env, name) ? env[name] : undefined;
    if (found) return found;
    throw unsetVariable(step.id, name);
  });
}

/**
 * Returns the header for an API's `auth`, which is the Authorization header as text, or `{type: "bearer", token}`,
 * `{type: "basic", username, password}` or `{type: "header", name, value}`.
 */
function authOf(call: Call, { auth }: ApiDocument): [string, string][] {
  const given = call.value(auth);
  if (given === undefined || given === null || given === "") return [];
  if (typeof given === "string") return [["authorization", expanded(call, given)]];
  if (!isPlain(given)) throw badAuth(call.step.id);
  const part = (name: string): string => {
    const text = call.value(given[name]);
    if (typeof text === "string") return expanded(call, text);
    throw missingAuth(call.step.id, name);
  };
  if (given.type === "bearer") return [["authorization", `Bearer ${part("token")}`]];
  if (given.type === "header") return [[part("name").toLowerCase(), part("value")]];
  if (given.type === "basic") {
    const bytes = new TextEncoder().encode(`${part("username")}:${part("password")}`);
    return [["authorization", `Basic ${btoa(String.fromCharCode(...bytes))}`]];
  }
  throw badAuthType(call.step.id);
}

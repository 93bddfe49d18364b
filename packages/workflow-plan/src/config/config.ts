import { nearestName, readDocument } from "@uncaged/workflow/document";
import { isWorkflowError } from "@uncaged/workflow";
import { type Environment, takeLock, writeFileAtomic } from "@uncaged/workflow/host";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Document, parseDocument } from "yaml";
import { ConfigError } from "../error/error.ts";
import { credentialsOf, withoutSecrets } from "../secret/secret.ts";
import { type CueclawConfig, form, type Setting, settings } from "./form.ts";

/** Where settings come from: the file in the plan home, that of the project, the environment; the later counts. */
export type ConfigSources = {
  /** The plan home. */
  home: string;
  /** The folder of the project, if any. */
  project?: string | null;
  env: Environment;
  /** What `${NAME}` stands for besides the variables of the environment. */
  secrets?: Readonly<Record<string, string>>;
};

/** A setting as it holds, and where it was set: a file, a variable, or `default`. */
export type ConfigEntry = Setting & { value: unknown; from: string };

type Given = { value: unknown; from: string };

const fileName = "config.yaml";
const projectFileName = "uncaged.plans.yaml";
const hidden = new Set(["telegram.token"]);
const prefix = "UNCAGED_PLAN_";
const longestWaitMs = 10_000;

/** The settings as they hold. @throws ConfigError */
export const readConfig = (sources: ConfigSources): CueclawConfig => checked(givenIn(sources));

/** Each setting with its value, without any credential, and where that was set. @throws ConfigError */
export function configEntries(sources: ConfigSources): ConfigEntry[] {
  const given = givenIn(sources);
  const config = checked(given);
  const known = { ...credentialsOf(sources.env), ...sources.secrets };
  return settings.map((setting) => {
    const from = given.get(setting.key)?.from ?? "default";
    const value = valueAt(config, setting.key) ?? null;
    const isHidden = value !== null && hidden.has(setting.key);
    return { ...setting, value: isHidden ? "***" : withoutSecrets(value, known), from };
  });
}

/** Sets a setting in the file of the plan home, or with null takes it out; what else is in it stays. @throws ConfigError */
export function setConfig({ home }: ConfigSources, key: string, text: string | null): void {
  const way = settingOf(key).key.split(".");
  const value = text === null ? null : valueToSet(key, text);
  change(join(home, fileName), (document) => {
    if (value === null) document.deleteIn(way);
    else document.setIn(way, value);
  });
}

/** What stands in a file for a setting that somebody gives as a text. @throws ConfigError */
function valueToSet(key: string, text: string): unknown {
  const setting = settingOf(key);
  if (text === "")
    throw new ConfigError(`${key} can't be empty`, { hint: `take it out: config unset ${key}` });
  // What stands for a variable is known only to who reads it.
  if (text.includes("${")) return text;
  const value = typed(text, setting);
  checked(new Map([[key, { value, from: "" }]]));
  return value;
}

/** Changes a file of settings, one writer after the other. @throws ConfigError when it can't be read. */
function change(path: string, act: (document: Document) => void): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lock = takeLock(`${path}.lock`, longestWaitMs);
  if (!lock) throw new ConfigError(`${path} stays locked`, { hint: "try again" });
  try {
    const before = readText(path);
    if (before !== null) valuesIn(path, before);
    const document = parseDocument(before ?? "");
    act(document);
    writeFileAtomic(path, document.toString());
  } finally {
    lock.release();
  }
}

/** The variable that a setting is read from. */
export const variableOf = (key: string): string => prefix + key.toUpperCase().replaceAll(".", "_");

/** A setting by its key. @throws ConfigError */
export function settingOf(key: string): Setting {
  const found = settings.find((setting) => setting.key === key);
  if (found) return found;
  throw unknown(key, JSON.stringify(key.slice(0, 80)));
}

function givenIn(sources: ConfigSources): Map<string, Given> {
  const files = [join(sources.home, fileName)];
  if (sources.project) files.push(join(sources.project, projectFileName));
  const given = new Map<string, Given>();
  for (const from of files) {
    const text = readText(from);
    const values = text === null ? new Map<string, unknown>() : valuesIn(from, text);
    for (const [key, value] of values) {
      given.set(key, { value: resolved(value, settingOf(key), from, sources), from });
    }
  }
  for (const setting of settings) {
    const from = variableOf(setting.key);
    const text = sources.env[from];
    if (text) given.set(setting.key, { value: typed(text, setting), from });
  }
  return given;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new ConfigError(`${path} can't be read (${code ?? String(cause)})`, { cause });
  }
}

/** What a file sets, by key. A key that stands there has a value. */
function valuesIn(path: string, text: string): Map<string, unknown> {
  const values = new Map<string, unknown>();
  if (text.replace(/^\s*(#.*)?$/gm, "").trim() === "") return values;
  const { document, positionOf } = read(text, path);
  const visit = (value: unknown, way: string[]): void => {
    const key = way.join(".");
    const { line, column } = positionOf(way);
    const where = `${path}:${line}:${column}`;
    const isKnown = settings.some((setting) => setting.key === key);
    const isGroup = key === "" || settings.some((setting) => setting.key.startsWith(`${key}.`));
    if (!isKnown && !isGroup) throw unknown(key, `${where}: ${key}`);
    if (value === null || value === "")
      throw new ConfigError(`${where}: ${key || "the file"} is empty`);
    if (isKnown) values.set(key, value);
    else if (typeof value === "object" && !Array.isArray(value)) {
      for (const [name, inner] of Object.entries(value)) visit(inner, [...way, name]);
    } else throw new ConfigError(`${where}: ${key || "the file"} must have keys`);
  };
  visit(document, []);
  return values;
}

function read(text: string, path: string) {
  try {
    return readDocument(text, path, ConfigError.ownCode);
  } catch (cause) {
    if (!isWorkflowError(cause)) throw cause;
    throw new ConfigError(cause.message, { hint: cause.hint, cause });
  }
}

function unknown(key: string, what: string): ConfigError {
  const nearest = nearestName(
    key,
    settings.map((setting) => setting.key),
  );
  const hint = nearest ? `did you mean ${nearest}?` : "list them: uncaged-workflow plan config";
  return new ConfigError(`${what} is no setting`, { hint });
}

/** A value of a file with what its `${NAME}` stand for. */
function resolved(value: unknown, setting: Setting, from: string, sources: ConfigSources): unknown {
  if (Array.isArray(value))
    return value.map((one: unknown) => filled(one, setting.key, from, sources));
  const text = filled(value, setting.key, from, sources);
  return typeof text === "string" && setting.kind !== "text" ? typed(text, setting) : text;
}

function filled(
  value: unknown,
  key: string,
  from: string,
  { env, secrets }: ConfigSources,
): unknown {
  if (typeof value !== "string") return value;
  return value.replace(/\$\{(\w+)\}/g, (_whole, name: string) => {
    const known = env[name] || secrets?.[name];
    if (known) return known;
    const hint = `set the variable, or store it: uncaged-workflow plan secret set ${name}`;
    throw new ConfigError(`${from}: ${key}: \${${name}} is not set`, { hint });
  });
}

/** A text as a value of the setting's kind, or the text, for which the check has the message. */
function typed(text: string, { kind }: Setting): unknown {
  if (kind === "number") return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  if (kind === "flag") return text === "true" ? true : text === "false" ? false : text;
  if (kind === "list")
    return text
      .split(",")
      .map((one) => one.trim())
      .filter(Boolean);
  return text;
}

function checked(given: ReadonlyMap<string, Given>): CueclawConfig {
  const whole: Record<string, unknown> = {};
  for (const name of Object.keys(form.shape)) {
    if (settings.some(({ key }) => key.startsWith(`${name}.`))) whole[name] = {};
  }
  for (const [key, { value }] of given) {
    const [first = "", second] = key.split(".");
    if (second === undefined) whole[first] = value;
    else (whole[first] as Record<string, unknown>)[second] = value;
  }
  const { data, error } = form.safeParse(whole);
  if (data) return data;
  const [issue] = error.issues;
  const key = (issue?.path ?? []).filter((part) => typeof part === "string").join(".");
  const where = given.get(key)?.from;
  const before = !where ? "" : `${where}: `;
  throw new ConfigError(`${before}${key} ${issue?.message ?? "is wrong"}`);
}

function valueAt(config: CueclawConfig, key: string): unknown {
  let value: unknown = config;
  for (const name of key.split(".")) value = (value as Record<string, unknown>)[name];
  return value;
}

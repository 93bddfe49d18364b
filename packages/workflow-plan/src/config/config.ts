import { nearestName, readDocument } from "@uncaged/workflow/document";
import { isWorkflowError } from "@uncaged/workflow";
import type { Environment } from "@uncaged/workflow/host";
import { takeLock, writeFileAtomic } from "@uncaged/workflow/internal";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Document, isMap, parseDocument } from "yaml";
import { ConfigError } from "../error/error.ts";
import { credentialsOf, withoutSecrets } from "../secret/secret.ts";
import {
  type CueclawConfig,
  form,
  isUsersAlone,
  mayTighten,
  type Setting,
  settings,
} from "./settings.ts";
import {
  emptySetting,
  emptyValue,
  fileLocked,
  fileUnreadable,
  invalidDocument,
  invalidSetting,
  notForProjects,
  notGroup,
  unknownSetting,
  variableInProject,
  variableNotSet,
} from "./errors.ts";

/**
 * The sources of settings, in ascending order of precedence: the user's file, the file of the plan home if the home is
 * a project's, the project's own file, the environment. The files of a project may only tighten the user's settings and
 * the defaults.
 */
export type ConfigSources = {
  home: string;
  /** The plan home with the user's file (default: `home`). */
  userHome?: string;
  /** The folder of the project, if any. */
  project?: string | null;
  env: Environment;
  /** Values for `${NAME}` in addition to the environment's variables. */
  secrets?: Readonly<Record<string, string>>;
};

/** A setting's effective value and its origin: a file, a variable, or `default`. */
export type ConfigEntry = Omit<Setting, "path"> & { value: unknown; from: string };

type Given = { value: unknown; from: string };
/** A setting's value in a file, and its location there. */
type Stated = { value: unknown; at: string };

const fileName = "config.yaml";
/** The name of the settings file in a project's folder. */
export const projectFileName = "uncaged.plans.yaml";
const hidden = new Set(["telegram.token"]);
const prefix = "UNCAGED_PLAN_";
const longestWaitMs = 10_000;

/** Returns the effective settings. @throws ConfigError */
export const readConfig = (sources: ConfigSources): CueclawConfig => checked(givenIn(sources));

/** Returns each setting with its value (without credentials) and its origin. @throws ConfigError */
export function configEntries(sources: ConfigSources): ConfigEntry[] {
  const given = givenIn(sources);
  const config = checked(given);
  const known = { ...credentialsOf(sources.env), ...sources.secrets };
  return settings.map((setting) => {
    const { about, key, kind } = setting;
    const from = given.get(key)?.from ?? "default";
    const value = valueAt(config, setting) ?? null;
    const isHidden = value !== null && hidden.has(key);
    return { key, about, kind, value: isHidden ? "***" : withoutSecrets(value, known), from };
  });
}

/**
 * Sets a setting in the file of the plan home; null removes it. The rest of the file stays. In a project, settings that
 * the project's file may not have are written to the user's file.
 * @returns the changed file
 * @throws ConfigError
 */
export function setConfig(sources: ConfigSources, key: string, text: string | null): string {
  const setting = settingOf(key);
  const path = join(sources.home, fileName);
  const own = userFile(sources);
  if (text === null) {
    const file = own !== path && statedIn(path).has(key) ? path : own;
    if (statedIn(file).has(key))
      change(file, (document) => document.deleteIn(wayIn(document, setting)));
    return file;
  }
  const value = valueToSet(key, text);
  if (own !== path && isUsersOnly(sources, setting, value)) {
    if (statedIn(path).has(key))
      change(path, (document) => document.deleteIn(wayIn(document, setting)));
    change(own, (document) => set(document, setting, value));
    return own;
  }
  change(path, (document) => set(document, setting, value));
  return path;
}

const userFile = ({ home, userHome = home }: ConfigSources): string => join(userHome, fileName);

/** Tells whether only the user's file may set a setting to a value. */
function isUsersOnly(sources: ConfigSources, setting: Setting, value: unknown): boolean {
  if (isUsersAlone(setting) || (typeof value === "string" && value.includes("${"))) return true;
  return !mayTighten(setting, ownValues(sources).get(setting.key), value);
}

const network = "sandbox.network";

/** Returns the path of a setting in a document: `sandbox.network` is a mode, or a map with `mode` and `allow`. */
function wayIn(document: Document, { key }: Setting): string[] {
  const way = key.split(".");
  return key === network && isMap(document.getIn(way)) ? [...way, "mode"] : way;
}

function set(document: Document, setting: Setting, value: unknown): void {
  const way = network.split(".");
  const mode = document.getIn(way);
  if (setting.key.startsWith(`${network}.`) && typeof mode === "string")
    document.setIn(way, document.createNode({ mode }));
  document.setIn(wayIn(document, setting), value);
}

/** Converts a setting's value from text to the form for the file. @throws ConfigError */
function valueToSet(key: string, text: string): unknown {
  const setting = settingOf(key);
  if (text === "") throw emptyValue(key);
  // The variables have values only when the file is read.
  if (text.includes("${")) return text;
  const value = typed(text, setting);
  checked(new Map([[key, { value, from: "" }]]));
  return value;
}

/**
 * Changes a file of settings under a lock.
 * @throws ConfigError if it is unreadable.
 */
function change(path: string, act: (document: Document) => void): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lock = takeLock(`${path}.lock`, longestWaitMs);
  if (!lock) throw fileLocked(path);
  try {
    const before = readText(path);
    if (before !== null) valuesOf(path, before);
    const document = parseDocument(before ?? "");
    act(document);
    writeFileAtomic(path, document.toString());
  } finally {
    lock.release();
  }
}

/** Returns the environment variable of a setting. */
export const variableOf = (key: string): string => prefix + key.toUpperCase().replaceAll(".", "_");

/** Returns the setting with a key. @throws ConfigError */
export function settingOf(key: string): Setting {
  const found = settings.find((setting) => setting.key === key);
  if (found) return found;
  throw unknown(key);
}

function givenIn(sources: ConfigSources): Map<string, Given> {
  const own = userFile(sources);
  const given = givenBy(own, sources);
  const values = ownValues(sources, given);
  const files = [join(sources.home, fileName)].filter((path) => path !== own);
  if (sources.project) files.push(join(sources.project, projectFileName));
  for (const path of files) {
    for (const [key, { at, value }] of statedIn(path)) {
      const setting = settingOf(key);
      if (JSON.stringify(value).includes("${")) throw variableInProject(at, key);
      const wanted = checkedValue(resolved(value, setting, path, sources), setting, path);
      if (!mayTighten(setting, values.get(key), wanted)) {
        const act = isUsersAlone(setting) ? "set" : "relax";
        throw notForProjects(at, key, { act, userFile: own });
      }
      given.set(key, { value: wanted, from: path });
    }
  }
  for (const setting of settings) {
    const from = variableOf(setting.key);
    const text = sources.env[from];
    if (text) given.set(setting.key, { value: typed(text, setting), from });
  }
  return given;
}

/** Reads the values of a user's file. */
function givenBy(path: string, sources: ConfigSources): Map<string, Given> {
  const given = new Map<string, Given>();
  for (const [key, { value }] of statedIn(path))
    given.set(key, { value: resolved(value, settingOf(key), path, sources), from: path });
  return given;
}

/** Returns the user's settings and the defaults, by key: the limits for a project's file. */
function ownValues(sources: ConfigSources, given = givenBy(userFile(sources), sources)) {
  const config = checked(given);
  return new Map(settings.map((setting) => [setting.key, valueAt(config, setting)]));
}

/** Checks and converts a value of a file. @throws ConfigError */
function checkedValue(value: unknown, setting: Setting, from: string): unknown {
  return valueAt(checked(new Map([[setting.key, { value, from }]])), setting);
}

/** Reads the values of a file by key; empty if the file is missing. @throws ConfigError */
function statedIn(path: string): Map<string, Stated> {
  const text = readText(path);
  return text === null ? new Map<string, Stated>() : valuesOf(path, text);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw fileUnreadable(path, code ?? String(cause), cause);
  }
}

const modeOfNetwork = /^sandbox\.network\.mode$/;

/** Parses the values in a file's text by key. A present key has a value. */
function valuesOf(path: string, text: string): Map<string, Stated> {
  const values = new Map<string, Stated>();
  if (text.replace(/^\s*(#.*)?$/gm, "").trim() === "") return values;
  const { document, positionOf } = read(text, path);
  const visit = (value: unknown, way: string[]): void => {
    const key = way.join(".").replace(modeOfNetwork, network);
    const { line, column } = positionOf(way);
    const where = `${path}:${line}:${column}`;
    const isKnown = settings.some((setting) => setting.key === key);
    const isGroup = key === "" || settings.some((setting) => setting.key.startsWith(`${key}.`));
    if (!isKnown && !isGroup) throw unknown(key, where);
    if (value === null || value === "") throw emptySetting(where, key);
    const isMapped = typeof value === "object" && !Array.isArray(value);
    if (isKnown && !(isGroup && isMapped)) values.set(key, { value, at: where });
    else if (isMapped) {
      for (const [name, inner] of Object.entries(value)) visit(inner, [...way, name]);
    } else throw notGroup(where, key);
  };
  visit(document, []);
  return values;
}

function read(text: string, path: string) {
  try {
    return readDocument(text, path, ConfigError.ownCode);
  } catch (cause) {
    if (!isWorkflowError(cause)) throw cause;
    throw invalidDocument(cause);
  }
}

function unknown(key: string, at?: string): ConfigError {
  const nearest = nearestName(
    key,
    settings.map((setting) => setting.key),
  );
  return unknownSetting(key, nearest, at);
}

/** Replaces each `${NAME}` in a value of a file. */
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
    const known = [env, secrets ?? {}].find((one) => Object.hasOwn(one, name) && one[name])?.[name];
    if (known) return known;
    throw variableNotSet(from, key, name);
  });
}

/** Converts a text to the setting's kind. Returns an invalid text unchanged, because the check reports it. */
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
    const [first = "", second] = settingOf(key).path;
    if (second === undefined) whole[first] = value;
    else (whole[first] as Record<string, unknown>)[second] = value;
  }
  const { data, error } = form.safeParse(whole);
  if (data) return data;
  const [issue] = error.issues;
  const path = (issue?.path ?? []).filter((part) => typeof part === "string").join(".");
  const key = settings.find((setting) => setting.path.join(".") === path)?.key ?? path;
  throw invalidSetting(key, issue?.message, given.get(key)?.from);
}

function valueAt(config: CueclawConfig, { path }: Setting): unknown {
  let value: unknown = config;
  for (const name of path) value = (value as Record<string, unknown>)[name];
  return value;
}

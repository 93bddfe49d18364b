import type { ApiDocument, RegistryDocument } from "../document/document.ts";
import { copyOf } from "../expression/copy.ts";
import {
  type Declaration,
  parseParamDeclaration,
  parseVariableDeclaration,
} from "./declaration.ts";
import { startParams } from "./params.ts";
import { parseServiceSignature, type ServiceSignature } from "./service.ts";

/** A component as the registry names it: its id, and whatever else stands there. */
export type ComponentDocument = { id: string; [field: string]: unknown };

/**
 * What the registry of a step workflow declares, read. Its methods give undefined for what is not
 * declared. The constructor throws a `WorkflowError` (`DECLARATION_INVALID`) for the first declaration
 * that can't be read; the validator names them all.
 */
export class Registry {
  readonly params: readonly Declaration[];
  readonly vars: readonly Declaration[];
  readonly services: readonly ServiceSignature[];
  readonly #document: RegistryDocument;

  constructor(document: RegistryDocument) {
    this.#document = document;
    this.params = (document.params ?? []).map(parseParamDeclaration);
    this.vars = (document.vars ?? []).map(parseVariableDeclaration);
    this.services = (document.services ?? []).map(parseServiceSignature);
  }

  /** The endpoint of a step's id (`API_<id>`), or of an id. */
  api(id: string): ApiDocument | undefined {
    return byId(this.#document.apis ?? [], id, "API_");
  }

  /** The component of a step's id (`Component_<id>`), or of an id. */
  component(id: string): ComponentDocument | undefined {
    const all = (this.#document.components ?? []).map((component) =>
      typeof component === "string" ? { id: component } : component,
    );
    return byId(all, id, "Component_");
  }

  /** The JSON Schema of an id, as a `schemaRef` names it. */
  schema(id: string): unknown {
    return ownOf(this.#document.schemas, id);
  }

  /** The title of a document. */
  doc(id: string | number): string | undefined {
    return ownOf(this.#document.docs, String(id));
  }

  /**
   * The params that a run starts with: a copy of those given, with the defaults of the others. Throws a
   * `WorkflowError` (`PARAMS_INVALID`) that names all that are missing, wrong or not declared.
   */
  startParams(given: unknown): Record<string, unknown> {
    return startParams(this.params, given);
  }

  /**
   * The same for a run that begins in its middle: what is missing and has no default is null. Throws as
   * {@link Registry.startParams} for what is given.
   */
  someParams(given: unknown): Record<string, unknown> {
    return startParams(this.params, given, true);
  }

  /** The variables that a run starts with: a copy of the default, else null. */
  initialVariables(): Record<string, unknown> {
    return Object.fromEntries(
      this.vars.map(({ name, default: value }) => [name, copyOf(value ?? null)]),
    );
  }

  /** The type of each param, by name. */
  paramTypes(): Record<string, string> {
    return typesOf(this.params);
  }

  /** The type of each variable, by its `$name`. */
  varTypes(): Record<string, string> {
    return typesOf(this.vars);
  }
}

const typesOf = (declarations: readonly Declaration[]): Record<string, string> =>
  Object.fromEntries(declarations.map(({ name, type }) => [name, type]));

function byId<T extends { id: string }>(all: readonly T[], id: string, prefix: string) {
  const bare = id.startsWith(prefix) ? id.slice(prefix.length) : id;
  return all.find((each) => each.id === id) ?? all.find((each) => each.id === bare);
}

const ownOf = <T>(record: Record<string, T> | undefined, key: string): T | undefined =>
  record && Object.hasOwn(record, key) ? record[key] : undefined;

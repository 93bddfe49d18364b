import { Ajv2020 } from "ajv/dist/2020.js";

type Schema = Record<string, unknown>;
type Described = { content?: Record<string, { schema: Schema }> };
type Operation = { responses: Record<string, Described> };

/** A received answer. For a stream only the head is checked. */
type Answer = { status: number; type: string; text: string };

/** The server's description of its API. */
export type ApiDescription = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Checks answers strictly against the API's description: an answer has exactly the described status, type and keys. */
export class ApiDocument {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #description: ApiDescription;
  readonly #seen = new Set<string>();

  constructor(description: ApiDescription) {
    this.#description = description;
  }

  /** The described answers that were not checked yet, such as `GET /api/server 200`. */
  get unseen(): string[] {
    const all = Object.entries(this.#description.paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { responses }]) =>
        Object.keys(responses).map((status) => `${method.toUpperCase()} ${path} ${status}`),
      ),
    );
    return all.filter((one) => !this.#seen.has(one));
  }

  /** Returns the differences between an answer and its description, for a request such as `GET /api/threads/{id}`. */
  errorsOf(request: string, { status, type, text }: Answer): string[] {
    const [method = "", path = ""] = request.split(" ");
    const place = `${request} ${status}`;
    const operation = this.#description.paths[path]?.[method.toLowerCase()];
    const described = operation?.responses[String(status)];
    if (!described) return [`${place} is not described: ${text.slice(0, 200)}`];
    this.#seen.add(place);
    if (!described.content) return text === "" ? [] : [`${place} has a body`];
    const schema = described.content[type]?.schema;
    if (!schema) return [`${place} is of the type ${type}`];
    if (type !== "application/json") return [];
    const value: unknown = JSON.parse(text);
    // Checks like any client, and also refuses undescribed keys.
    const { components } = this.#description;
    const asIs = this.#ajv.compile({ ...schema, components });
    const closed = this.#ajv.compile(this.#closed(schema));
    const why = [asIs, closed].flatMap((validate) =>
      validate(value) ? [] : (validate.errors ?? []),
    );
    return why.map(
      (one) => `${place} ${one.instancePath} ${one.message} ${JSON.stringify(one.params)}`,
    );
  }

  /** Returns a schema without references, whose objects allow only declared keys. */
  #closed(schema: Schema): Schema {
    const whole = this.#merged(schema);
    const { properties, additionalProperties } = whole;
    const inner = Object.entries(whole).map(([key, value]) => [key, this.#closedIn(key, value)]);
    const isOpen = !isObject(properties) || additionalProperties !== undefined;
    return { ...Object.fromEntries(inner), ...(!isOpen && { additionalProperties: false }) };
  }

  #closedIn(key: string, value: unknown): unknown {
    if (key === "properties" && isObject(value)) {
      const entries = Object.entries(value).map(([name, one]) => [
        name,
        this.#closed(one as Schema),
      ]);
      return Object.fromEntries(entries);
    }
    if (key === "anyOf" || key === "oneOf")
      return (value as Schema[]).map((one) => this.#closed(one));
    const isSchema = key === "items" || key === "additionalProperties";
    return isSchema && isObject(value) ? this.#closed(value) : value;
  }

  #merged({ $ref, allOf, ...rest }: Schema): Schema {
    const named =
      typeof $ref === "string" ? this.#description.components.schemas[$ref.slice(21)] : {};
    const parts = [named ?? {}, ...((allOf as Schema[] | undefined) ?? [])].map((part) =>
      part.$ref || part.allOf ? this.#merged(part) : part,
    );
    return [...parts, rest].reduce((whole, part) => ({
      ...whole,
      ...part,
      ...(isObject(whole.properties) &&
        isObject(part.properties) && { properties: { ...whole.properties, ...part.properties } }),
      ...(Array.isArray(whole.required) &&
        Array.isArray(part.required) && { required: [...whole.required, ...part.required] }),
    }));
  }
}

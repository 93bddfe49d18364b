const dollars = (period: string) =>
  ({
    type: "number",
    exclusiveMinimum: 0,
    description: `The most US dollars that all threads of the storage root spend in a ${period} of UTC.`,
  }) as const;

const path = (description: string) => ({ type: "string", minLength: 1, description }) as const;

/**
 * The JSON Schema of a project file, published for editors. The reader checks the rules that a schema can't express.
 */
export const projectSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "A project of uncaged-workflow",
  description:
    "The file uncaged.json: the storage root of a folder's threads, and the sources of its workflows.",
  type: "object",
  additionalProperties: false,
  properties: {
    $schema: path("For editors; it is not read."),
    root: { ...path("The storage root, from the project's folder."), default: ".uncaged" },
    host: {
      type: "string",
      pattern: "^(restates?|postgres(ql)?)://.",
      description:
        "The URL of the cluster or database that the threads run on, instead of the storage root.",
    },
    env: {
      type: "array",
      items: path("A file of variables. It may be missing."),
      default: [".env"],
      description:
        "The .env files of threads that are started in the project. A later file overrides earlier files.",
    },
    workflows: {
      type: "object",
      propertyNames: { pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" },
      additionalProperties: path("TypeScript, a step workflow, an agent graph, or a bundle."),
      default: {},
      description: "The source of each workflow, by name.",
    },
    limits: {
      type: "object",
      additionalProperties: false,
      properties: { costPerDay: dollars("day"), costPerMonth: dollars("month") },
      description:
        "The maximum cost of models. The lower of this limit and the storage root's limit applies.",
    },
  },
} as const;

import { z } from "zod";
import { dataForms, graphForm } from "../document/schema.ts";

type Schema = { [keyword: string]: unknown };

/**
 * Returns the JSON Schema (draft 2020-12) of an agent graph for editors, generated from the format's definition. The
 * schema can't check references between parts: ids, connections, subagents.
 */
export function graphSchema(): Schema {
  const { $schema, properties, ...form } = schemaOf(graphForm);
  const { nodes, ...others } = properties as Record<string, Schema>;
  const items = nodes?.items as Schema;
  const byType = Object.entries(dataForms).map(([type, data]) => {
    const { $schema: _, ...schema } = schemaOf(data);
    const isType = { properties: { type: { const: type } }, required: ["type"] };
    return { if: isType, then: { properties: { data: { anyOf: [schema, { type: "null" }] } } } };
  });
  return {
    ...{
      $schema,
      title: "Agent graph",
      description: "A graph of agents for uncaged-workflow.",
    },
    ...form,
    properties: { ...others, nodes: { ...nodes, items: { ...items, allOf: byType } } },
  };
}

const schemaOf = (form: z.ZodType): Schema => z.toJSONSchema(form, { io: "input" }) as Schema;

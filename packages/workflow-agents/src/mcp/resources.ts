import { isObject } from "../run/error.ts";
import type { ReadyTool } from "../tools/tools.ts";
import { joined, resourceOf } from "./content.ts";
import type { ThreadServer } from "./server.ts";

const failed = "MCP_RESOURCE_FAILED";

/** Returns two tools by which a model lists and reads a server's resources. */
export function resourceTools(server: ThreadServer): ReadyTool[] {
  const listing = { running: "its resources were listed", failed };
  const reading = { running: "a resource was read", failed };
  return [
    {
      name: "list_resources",
      description: "Lists the resources that can be read, and URI templates of further resources.",
      input_schema: { type: "object", properties: {} },
      check: (input) => ({ ok: true, input }),
      execute: (_, { signal }) =>
        server.ask(listing, signal, async (client, limits) => {
          const { resources } = await client.listResources(undefined, limits);
          const { resourceTemplates } = await client
            .listResourceTemplates(undefined, limits)
            // A server may have resources but not support templates.
            .catch(() => ({ resourceTemplates: [] }));
          return {
            resources: resources.map(({ uri, name, description, mimeType }) => {
              return { uri, name, description, mimeType };
            }),
            templates: resourceTemplates.map(({ uriTemplate, name, description, mimeType }) => {
              return { uriTemplate, name, description, mimeType };
            }),
          };
        }),
    },
    {
      name: "read_resource",
      description: "Reads a resource by its URI.",
      input_schema: {
        type: "object",
        properties: { uri: { type: "string" } },
        required: ["uri"],
      },
      check: (input) =>
        isObject(input) && typeof input.uri === "string" && URL.canParse(input.uri)
          ? { ok: true, input: input.uri }
          : { ok: false, problem: "uri must be a URI, as list_resources gives it" },
      execute: async (uri, { signal }) => {
        const read = await server.ask(reading, signal, (client, limits) =>
          client.readResource({ uri: uri as string }, limits),
        );
        return { result: joined(read.contents.map(resourceOf)) };
      },
    },
  ];
}

import { builtInTools } from "@uncaged/workflow-graph/document";
import type { GraphChoices } from "@uncaged/workflow-graph/editing";
import type { GraphConfig } from "@uncaged/workflow-server/api-types";
import { queryOf } from "../../lib/request.ts";

/** The models of the server's configuration. */
export const configQuery = queryOf<GraphConfig>(["config"], "/config");

/** Choices before the server has answered. */
export const fewChoices: GraphChoices = {
  models: [],
  reasoningEfforts: ["none", "low", "medium", "high"],
  tools: builtInTools,
};

/** The choices of forms. Models need a configured key. */
export function choicesOf({ providers }: GraphConfig): GraphChoices {
  const models = providers.filter(({ enabled }) => enabled).flatMap((provider) => provider.models);
  const efforts = models.flatMap(({ reasoningEfforts = [] }) => reasoningEfforts);
  return {
    ...fewChoices,
    models: models.map(({ id }) => id),
    ...(efforts.length > 0 && { reasoningEfforts: [...new Set(efforts)] }),
  };
}

import { planEditing } from "@uncaged/workflow-plan/editing";
import { Bot } from "lucide-react";
import type { DocumentKind } from "../../editor/kind.ts";

const { actions: _, ...editing } = planEditing;

/** The kind of plan documents. Positions are computed. */
export const planKind: DocumentKind<"plan"> = {
  ...editing,
  name: "plan",
  palette: [{ type: "step", label: "Step", icon: Bot, hint: "A task for an agent", key: "s" }],
};

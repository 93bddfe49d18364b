import type { DrawnNode, Problem } from "@uncaged/workflow/editing";
import { Cable, Copy, CircleAlert, Trash2, X } from "lucide-react";
import type { ReactNode } from "react";
import { counted } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { IconButton } from "../ui/icon-button.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { useDocumentPart, useEdited, useEditor } from "./document/use-document.ts";
import { FormOfNode } from "./form/node-form.tsx";

/** A panel next to the canvas. It fills the height and has its own scroll bar. */
export type Panel = {
  value: string;
  label: ReactNode;
  content: ReactNode;
  /** Whether the panel takes more of the width. */
  isWide?: true;
};

/** A page's own action on a node. */
export type NodeAction = {
  label: string;
  icon: ReactNode;
  onSelect: () => void;
  isDisabled?: boolean;
  danger?: boolean;
};

type Props = {
  panels: readonly Panel[];
  panel: string;
  onPanel: (panel: string) => void;
  nodeActions: (node: DrawnNode) => readonly NodeAction[];
  onConnect: () => void;
  /** The data of the selected node in a run; null without data. */
  data: ReactNode;
};

/** The panel with the form of the selected node. */
export const nodePanel = "node";
/** The panel with the data of a node in the selected run. */
export const dataPanel = "data";

/** The right side of an editor: the form of the selected node, and the page's panels. */
export function Inspector(props: Props) {
  const { panel, onPanel, data } = props;
  const own = (
    <section
      className="min-h-0 flex-1 overflow-y-auto p-3"
      id="editor-form"
      aria-label="Node"
      // Makes a panel without fields scrollable by keyboard.
      tabIndex={0}
    >
      <Selected {...props} />
    </section>
  );
  const settings: Panel = { value: nodePanel, label: "Settings", content: own };
  const panels = [...(data === null ? [] : [dataPanelOf(data)]), settings, ...props.panels];
  const shown = panels.find(({ value }) => value === panel) ?? settings;
  return (
    <aside
      className={`flex flex-none flex-col border-l bg-surface max-md:w-full max-md:border-t max-md:border-l-0 ${shown.isWide ? "w-[clamp(20rem,38%,36rem)] max-md:h-[70%]" : "w-68 max-md:h-[45%] xl:w-[clamp(21rem,28%,27rem)]"}`}
      aria-label="Selection"
    >
      {panels.length === 1 ? (
        own
      ) : (
        <Tabs
          label="Parts of the editor"
          tabs={panels}
          value={shown.value}
          onChange={onPanel}
          fills
        >
          {shown.content}
        </Tabs>
      )}
    </aside>
  );
}

const dataPanelOf = (data: ReactNode): Panel => ({
  value: dataPanel,
  label: "Data",
  content: (
    // Makes data without controls scrollable by keyboard.
    <section className="min-h-0 flex-1 overflow-y-auto" aria-label="Data" tabIndex={0}>
      {data}
    </section>
  ),
});

function Selected(props: Props) {
  const { document, actions, isReadOnly } = useEditor();
  const selection = useDocumentPart(document, (state) => state.selection);
  const drawing = useDocumentPart(document, (state) => state.drawing);
  const { nodes: ids, edges } = selection;
  const [id, ...others] = ids;
  const node = others.length === 0 ? drawing.nodes.find((one) => one.id === id) : undefined;
  if (node) return <OneNode {...props} node={node} />;
  if (ids.size === 0 && edges.size === 0)
    return (
      <>
        <ProblemList />
        {!isReadOnly && drawing.nodes.length < 2 && <Templates />}
      </>
    );
  return (
    <div className="flex flex-col gap-3">
      <h2>{ids.size > 0 ? counted(ids.size, "node") : counted(edges.size, "line")} selected</h2>
      {!isReadOnly && (
        <div className="flex flex-wrap gap-2">
          {ids.size > 0 && (
            <Button small icon={<Copy />} onClick={() => actions.duplicate()}>
              Duplicate
            </Button>
          )}
          <Button small look="danger" icon={<Trash2 />} onClick={() => actions.remove()}>
            Delete
          </Button>
        </div>
      )}
    </div>
  );
}

function OneNode({ node, nodeActions, onConnect }: Props & { node: DrawnNode }) {
  const { document, actions, isReadOnly } = useEditor();
  const { kind } = document;
  const value = useDocumentPart(document, (state) => state.value);
  const problems = useDocumentPart(document, (state) => state.problems);
  const item = kind.palette.find(({ type }) => type === node.type);
  const own = isReadOnly ? [] : (kind.actions?.(value, [node.id]) ?? []);
  const canStart = node.ports.some(({ role, isOpen }) => role === "out" && isOpen);
  const connecting = { label: "Connect…", icon: <Cable />, onSelect: onConnect };
  const buttons: readonly NodeAction[] = [
    ...nodeActions(node),
    ...own.map(({ label, icon: Icon, edit }) => {
      return { label, icon: <Icon />, onSelect: () => void document.apply(edit) };
    }),
    ...(!isReadOnly && canStart ? [connecting] : []),
  ];
  const mine = problems.filter(({ path }) => node.path.every((key, depth) => path[depth] === key));
  return (
    <div className="flex flex-col gap-3">
      <div>
        <h2 className="wrap-anywhere">{node.title}</h2>
        <p className="text-small text-muted">
          {item?.label ?? node.type} <code className="text-faint">{node.id}</code>
        </p>
      </div>
      <div className="flex flex-wrap gap-1">
        {buttons.map(({ label, icon, onSelect, isDisabled }) => (
          <Button key={label} small icon={icon} disabled={isDisabled} onClick={onSelect}>
            {label}
          </Button>
        ))}
        {!isReadOnly && !node.isFixed && (
          <Button
            small
            look="danger"
            icon={<Trash2 />}
            aria-label={`Delete ${node.title}`}
            onClick={() => actions.remove()}
          />
        )}
      </div>
      {mine.map((problem) => (
        <ProblemText key={problem.message} problem={problem} />
      ))}
      <FormOfNode id={node.id} />
      <Lines node={node} />
    </div>
  );
}

const ProblemText = ({ problem: { message, severity } }: { problem: Problem }) => (
  <span className={`flex gap-2 text-small ${severity === "error" ? "text-red" : "text-amber"}`}>
    <CircleAlert className="mt-[1px]" /> <span className="wrap-anywhere">{message}</span>
  </span>
);

/** A list of the lines of a node, for editing without a mouse. */
function Lines({ node }: { node: DrawnNode }) {
  const { document, actions, isReadOnly } = useEditor();
  const { nodes, edges } = useDocumentPart(document, (state) => state.drawing);
  const own = edges.filter(({ source, target }) => source === node.id || target === node.id);
  if (own.length === 0) return null;
  const titleOf = (id: string): string => nodes.find((one) => one.id === id)?.title ?? id;
  return (
    <section aria-label="Lines">
      <h3 className="mb-1">Lines</h3>
      <ul className="flex flex-col gap-0.5">
        {own.map(({ id, source, target, sourcePort }) => {
          const port = nodes
            .find((one) => one.id === source)
            ?.ports.find((one) => one.role === "out" && one.id === sourcePort);
          const name = source === node.id ? `to ${titleOf(target)}` : `from ${titleOf(source)}`;
          return (
            <li key={id} className="flex items-center gap-2 text-small">
              <span className="min-w-0 flex-1 truncate">
                {name}
                {port?.label && <span className="text-faint"> ({port.label})</span>}
              </span>
              {!isReadOnly && (
                <IconButton
                  icon={<X />}
                  label={`Remove the line ${name}`}
                  onClick={() => actions.removeEdge(id)}
                />
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** Documents to start from, shown while the document has at most one node. */
function Templates() {
  const { document, actions } = useEditor();
  const { templates = [] } = document.kind;
  return (
    <section aria-label="Start from" className="mt-4 flex flex-col gap-1">
      <h2>Start from</h2>
      {templates.map((template) => (
        <button
          key={template.label}
          type="button"
          className="cursor-pointer rounded-md border px-3 py-2 text-left hover:bg-hover"
          onClick={() => void actions.start(template)}
        >
          <span className="block font-semibold">{template.label}</span>
          <span className="block text-small text-muted">{template.hint}</span>
        </button>
      ))}
    </section>
  );
}

const mostListed = 100;

/** The problems of the document, shown without a selection. */
function ProblemList() {
  const document = useEdited();
  const problems = useDocumentPart(document, (state) => state.problems);
  const { nodes, edges } = useDocumentPart(document, (state) => state.drawing);
  return (
    <div className="flex flex-col gap-3">
      <p className="text-muted">
        {counted(nodes.length, "node")}, {counted(edges.length, "line")}. Select a node to edit it.
      </p>
      {problems.length > 0 && (
        <ul className="flex flex-col gap-1" aria-label="Problems">
          {problems.slice(0, mostListed).map((problem, index) => (
            <li key={index}>
              <button
                type="button"
                className="w-full cursor-pointer rounded-md px-2 py-1 text-left hover:bg-hover"
                onClick={() => document.reveal(problem.path)}
              >
                <ProblemText problem={problem} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

import { useCallbackRef, useMediaQuery } from "@mantine/hooks";
import type { DrawnNode, Problem } from "@uncaged/workflow/editing";
import { Cable, Copy, Pencil, Trash2, TriangleAlert } from "lucide-react";
import {
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
} from "react";
import { MenuAt, MenuItem } from "../ui/menu.tsx";
import { useRemembered } from "../ui/remembered.ts";
import { Skeleton } from "../ui/states.tsx";
import { Actions, type CanvasHandle } from "./canvas/actions.ts";
import { Canvas, nodeElement, nodeIdOf } from "./canvas/canvas.tsx";
import { LiveContext, useLiveNodes } from "./canvas/live.ts";
import { ProblemsContext } from "./canvas/node-box.tsx";
import { ConnectDialog, EditorKeys } from "./dialogs.tsx";
import { ImportDialog, LeftDialog } from "./import-dialog.tsx";
import { type EditedDocument, nodeAt } from "./document/document.ts";
import { EditorContext, useDocumentPart, useEdited, useEditor } from "./document/use-document.ts";
import { type LastField, LastFieldContext } from "./form/last-field.ts";
import { Inspector, type NodeAction, type Panel } from "./inspector.tsx";
import { useClipboard, useEditorKeys } from "./keys.ts";
import type { Converted, LiveNode } from "./kind.ts";
import { AddDialog, Palette } from "./palette.tsx";
import { Toolbar } from "./toolbar.tsx";
import { type DataOf, useNodeData } from "./use-node-data.ts";

export type EditorProps = {
  document: EditedDocument;
  /** Name of an exported file. */
  name: string;
  live?: ReadonlyMap<string, LiveNode>;
  /** Content of the right end of the toolbar. */
  toolbar?: ReactNode;
  /** A banner above the canvas. */
  notice?: ReactNode;
  panels?: readonly Panel[];
  /** The visible panel. The editor itself provides the panel `node`. */
  panel?: string;
  onPanel?: (panel: string) => void;
  /** Called when a node is opened by a double click or Enter. Returns whether the page handled it. */
  onOpen?: (node: DrawnNode) => boolean;
  nodeActions?: (node: DrawnNode) => readonly NodeAction[];
  data?: DataOf;
  onSave?: () => void;
  isReadOnly?: boolean;
};

const TextPane = lazy(() => import("./text/text-pane.tsx"));

const noActions = (): readonly NodeAction[] => [];

export function Editor(props: EditorProps) {
  return (
    <LastFieldContext value={useRef<LastField | null>(null)}>
      <Parts {...props} />
    </LastFieldContext>
  );
}

function Parts(props: EditorProps) {
  const { document, name, toolbar, notice, panels = [], nodeActions = noActions, onSave } = props;
  const isNarrow = useIsNarrow();
  const isReadOnly = props.isReadOnly === true || isNarrow;
  const [panel, setPanel] = useState("node");
  const [isTextOpen, openText] = useRemembered("editor-json");
  const [dialog, setDialog] = useState<"add" | "connect" | "import" | "keys" | null>(null);
  const [converted, setConverted] = useState<Converted | null>(null);
  const [menuOf, setMenuOf] = useState<string | null>(null);
  const canvas = useRef<CanvasHandle>(null);
  const [actions] = useState(() => {
    const made = new Actions(document, canvas);
    made.onImported = setConverted;
    return made;
  });
  const editor = useMemo(
    () => ({ document, actions, isReadOnly }),
    [document, actions, isReadOnly],
  );
  const live = useLiveNodes(props.live);
  const problems = useProblems(document);
  const selected = useDocumentPart(document, (state) => state.selection.nodes);
  const nodes = useDocumentPart(document, (state) => state.drawing.nodes);
  const isTextShown = !isNarrow && isTextOpen;
  const showPanel = (value: string) => (props.onPanel ?? setPanel)(value);
  const [id] = selected;
  const node = nodes.find((one) => one.id === id);

  const { data, opensNode, openData } = useNodeData({
    ...{ document, node, isReadOnly, showPanel, dataOf: props.data },
    select: (chosen) => actions.select([chosen]),
  });
  const editFields = () => {
    showPanel("node");
    requestAnimationFrame(() => focusFirst(window.document.querySelector("#editor-form")));
  };
  /** Opens a node by double click or Enter. Enter does not fold: folding has its own key. */
  const open = (opened: DrawnNode, withFirst: boolean) => {
    if (props.onOpen?.(opened)) return;
    const { value } = document.state();
    const [first] =
      isReadOnly || !withFirst ? [] : (document.kind.actions?.(value, [opened.id]) ?? []);
    if (first) document.apply(first.edit);
    else editFields();
  };
  const onOpen = useCallbackRef((opened: DrawnNode) => open(opened, true));
  const help = () => setDialog("keys");
  const closing = () => setDialog(null);
  const openness = (of: typeof dialog) => ({ isOpen: dialog === of, onClose: closing });
  useEditorKeys({
    document,
    actions,
    canvas,
    isReadOnly,
    targets: {
      add: () => setDialog("add"),
      connect: () => node && setDialog("connect"),
      edit: editFields,
      open: () => node && open(node, false),
      menu: () => setMenuOf(nodeIdOf(window.document.activeElement)),
      help,
      save: onSave,
    },
  });
  useClipboard({ actions, isReadOnly });
  const reveal = useEffectEvent((shown: string, takesFocus: boolean) => {
    if (!takesFocus) return canvas.current?.show(shown);
    opensNode(shown);
    canvas.current?.focus(shown);
  });
  useEffect(() => document.onReveal((shown, takesFocus) => reveal(shown, takesFocus)), [document]);
  const menuNode = nodes.find((one) => one.id === menuOf);
  return (
    <EditorContext value={editor}>
      <LiveContext value={live}>
        <ProblemsContext value={problems}>
          <div
            className="flex h-[calc(100dvh-var(--spacing-below))] min-h-0 flex-col"
            onDragOver={(event) => {
              if (event.dataTransfer.types.includes("Files")) event.preventDefault();
            }}
            onDrop={(event) => {
              const [file] = event.dataTransfer.files;
              if (!file) return;
              event.preventDefault();
              if (!isReadOnly) void actions.importFile(file);
            }}
          >
            <h1 className="sr-only">{name}</h1>
            <Toolbar
              name={name}
              isTextShown={isTextShown}
              onText={() => openText(!isTextShown)}
              onHelp={help}
              onImport={() => setDialog("import")}
              onShow={(shown) => {
                actions.select([shown]);
                canvas.current?.show(shown);
              }}
            >
              {toolbar}
            </Toolbar>
            <Broken />
            {notice}
            <div className="flex min-h-0 flex-1 max-md:flex-col">
              {!isReadOnly && (
                <Palette
                  onAdd={(type) => {
                    const added = actions.add(type);
                    if (added !== null) canvas.current?.focus(added);
                    return added;
                  }}
                />
              )}
              <div
                className="relative flex min-h-0 min-w-0 flex-1"
                onClick={({ target }) => {
                  const isPage = panels.some(({ value }) => value === (props.panel ?? panel));
                  if (isPage && nodeIdOf(target) === node?.id) openData();
                }}
                onContextMenu={(event) => {
                  const pressed = nodeIdOf(event.target);
                  if (pressed === null) return;
                  event.preventDefault();
                  if (!selected.has(pressed)) actions.select([pressed]);
                  setMenuOf(pressed);
                }}
              >
                <Canvas handle={canvas} onOpen={onOpen} />
                <NoticeText />
              </div>
              {isTextShown && (
                <section
                  className="w-[min(24rem,28%)] flex-none border-l"
                  aria-label={`JSON of the ${document.kind.noun}`}
                >
                  <Suspense fallback={<Skeleton lines={12} />}>
                    <TextPane />
                  </Suspense>
                </section>
              )}
              <Inspector
                panels={panels}
                panel={props.panel ?? panel}
                onPanel={showPanel}
                nodeActions={nodeActions}
                onConnect={() => setDialog("connect")}
                data={data}
              />
            </div>
          </div>
          {menuNode && (
            <NodeMenu
              node={menuNode}
              more={nodeActions(menuNode)}
              onEdit={editFields}
              onConnect={() => setDialog("connect")}
              onClose={() => setMenuOf(null)}
            />
          )}
          <AddDialog {...openness("add")} onAdd={(type) => actions.add(type)} />
          {node && (
            <ConnectDialog
              key={node.id}
              node={node}
              nodes={nodes}
              {...openness("connect")}
              onConnect={(from, to) => actions.connect(from, to)}
            />
          )}
          <ImportDialog {...openness("import")} />
          <LeftDialog converted={converted} onClose={() => setConverted(null)} />
          <EditorKeys {...openness("keys")} />
        </ProblemsContext>
      </LiveContext>
    </EditorContext>
  );
}

type MenuProps = {
  node: DrawnNode;
  more: readonly NodeAction[];
  onEdit: () => void;
  onConnect: () => void;
  onClose: () => void;
};

function NodeMenu({ node, more, onEdit, onConnect, onClose }: MenuProps) {
  const { actions, isReadOnly } = useEditor();
  const [isShown, show] = useState(true);
  const chosen = useRef<NodeAction | null>(null);
  const canStart = !isReadOnly && node.ports.some(({ role, isOpen }) => role === "out" && isOpen);
  const connecting = { label: "Connect…", icon: <Cable />, onSelect: onConnect };
  const changing = [
    { label: "Duplicate", icon: <Copy />, onSelect: () => actions.duplicate() },
    { label: "Delete", icon: <Trash2 />, onSelect: () => actions.remove(), danger: true },
  ];
  const items: readonly NodeAction[] = [
    ...more.filter(({ isDisabled }) => !isDisabled),
    { label: "Edit its fields", icon: <Pencil />, onSelect: onEdit },
    ...(canStart ? [connecting] : []),
    ...(isReadOnly || node.isFixed ? [] : changing),
  ];
  return (
    <MenuAt
      anchor={() => nodeElement(node.id)}
      label={node.title}
      isOpen={isShown}
      onClose={() => show(false)}
      onClosed={() => {
        chosen.current?.onSelect();
        onClose();
      }}
    >
      {items.map((item) => (
        <MenuItem
          key={item.label}
          icon={item.icon}
          danger={item.danger}
          onClick={() => (chosen.current = item)}
        >
          {item.label}
        </MenuItem>
      ))}
    </MenuAt>
  );
}

function Broken() {
  const document = useEdited();
  const broken = useDocumentPart(document, (state) => state.broken);
  if (!broken) return null;
  return (
    <p className="flex items-center gap-2 bg-red-soft px-4 py-1 text-small text-red" role="alert">
      <TriangleAlert />
      Invalid JSON in line {broken.line}: {broken.message}. The drawing shows the last valid
      version.
    </p>
  );
}

const noticeMs = 4_500;

function NoticeText() {
  const document = useEdited();
  const notice = useDocumentPart(document, (state) => state.notice);
  useEffect(() => {
    if (!notice) return;
    const timer = setTimeout(() => document.say(null), noticeMs);
    return () => clearTimeout(timer);
  }, [document, notice]);
  return (
    <div
      role="alert"
      className="pointer-events-none absolute inset-x-0 top-3 z-20 grid justify-items-center px-3"
    >
      {notice && (
        <p className="max-w-104 rounded-md border border-amber bg-amber-soft px-3 py-2 wrap-anywhere text-amber shadow-lg">
          {notice.text}
        </p>
      )}
    </div>
  );
}

function useProblems(document: EditedDocument): ReadonlyMap<string, readonly Problem[]> {
  const problems = useDocumentPart(document, (state) => state.problems);
  return useMemo(() => {
    const { drawing } = document.state();
    return Map.groupBy(problems, ({ path }) => nodeAt(drawing, path)?.id ?? "");
  }, [document, problems]);
}

/** Tells whether the page is too narrow for editing. Documents can still be viewed and run. */
export const useIsNarrow = (): boolean =>
  useMediaQuery("(max-width: 46rem)", false, { getInitialValueInEffect: false });

const focusFirst = (form: Element | null): void =>
  form?.querySelector<HTMLElement>("input:enabled, textarea:enabled, select:enabled")?.focus();

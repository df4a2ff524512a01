// Calls the Read tool of Kimi Code: one JSON object with the arguments per line in, one with the answer out.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const [place, root] = process.argv.slice(2);
const dist = path.join(place, 'node_modules/@moonshot-ai/kimi-code/dist');
// The program is a bundle that does not export its tools: a copy beside it does, and does not start.
const copy = path.join(dist, 'read-tool.mjs');
let text = fs.readFileSync(path.join(dist, 'main.mjs'), 'utf8').replace(/^main\(\);$/m, '');
text = text.replace('{ createZstdDecompress, ', '{ '); // older versions of Node lack it, and reading needs none
const names = 'ReadTool, HostFileSystem, validateExecutableToolArgs, renderToolResultForModel as render';
const starts = 'init_readTool(); init_hostFsService(); init_toolExecutorService();';
fs.writeFileSync(copy, `${text}\n${starts}\nexport { ${names} };\n`);
const print = console.log;
const { ReadTool, HostFileSystem, validateExecutableToolArgs, render } = await import(copy);
const identity = { workspaceId: '1', runtimeId: '1', generation: 1 };
const environment = { pathClass: 'posix', homeDir: '/root', osKind: 'Linux', shellName: 'bash', shellPath: '/bin/sh' };
const workspace = { mapRoots: (roots) => roots };
const runtime = { identity, environment, path: path.posix, workspace, fs: new HostFileSystem() };
const tool = new ReadTool(
  { inspect: () => runtime, acquire: () => ({ runtime, dispose() {} }) },
  { workDir: root, additionalDirs: [] },
  { catalog: { getSkillRoots: () => [] } },
  { isWireJournalPath: () => false },
  { get: () => undefined },
  { getModelCapabilities: () => ({ image_in: true, video_in: true }) },
  { isToolActive: () => false },
  { resolve: () => undefined },
);
for await (const line of readline.createInterface({ input: process.stdin })) {
  const args = JSON.parse(line);
  let result;
  try {
    const wrong = validateExecutableToolArgs(tool, args);
    if (wrong !== null) result = { isError: true, output: `Invalid args for tool "Read": ${wrong}` };
    else {
      const execution = await tool.resolveExecution(args);
      result = execution.execute ? await execution.execute() : execution;
    }
  } catch (error) {
    result = { isError: true, output: String(error.message) };
  }
  const blocks = render(result);
  print(JSON.stringify({ failed: Boolean(result.isError), text: blocks.map(({ text }) => text).join('') }));
}

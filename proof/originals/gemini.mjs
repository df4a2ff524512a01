// Calls the read_file tool of Gemini CLI: one JSON object with the arguments per line in, one with the answer out.
import readline from 'node:readline';
import path from 'node:path';

const [place, root] = process.argv.slice(2);
const load = (file) => import(path.join(place, 'node_modules/@google/gemini-cli-core', file));
const print = console.log;
for (const name of ['log', 'info', 'warn', 'debug', 'error']) console[name] = () => {};
const { ReadFileTool } = await load('dist/src/tools/read-file.js');
const known = {
  getTargetDir: () => root,
  validatePathAccess: (file) => (file === root || file.startsWith(root + '/') ? null : 'Path not in workspace'),
  isJitContextEnabled: () => false,
  getUsageStatisticsEnabled: () => false,
  getTelemetryEnabled: () => false,
  getFileFilteringOptions: () => ({ respectGitIgnore: false, respectGeminiIgnore: false }),
};
const get = (target, key) => (key in target ? target[key] : key === 'then' ? undefined : () => undefined);
const bus = { publish() {}, subscribe() {}, unsubscribe() {} };
const tool = new ReadFileTool(new Proxy(known, { get }), bus);
for await (const line of readline.createInterface({ input: process.stdin })) {
  let answer;
  try {
    const result = await tool.build(JSON.parse(line)).execute({ abortSignal: new AbortController().signal });
    answer = { failed: Boolean(result.error), content: result.llmContent };
  } catch (error) {
    answer = { failed: true, content: String(error.message) };
  }
  print(JSON.stringify(answer));
}

// Calls the read_files tool of Cline: one JSON object with the arguments per line in, one with the answer out.
import readline from 'node:readline';
import path from 'node:path';

const [place, root] = process.argv.slice(2);
process.chdir(root);
const print = console.log;
for (const name of ['log', 'info', 'warn', 'debug', 'error']) console[name] = () => {};
const core = await import(path.join(place, 'node_modules/@cline/core/dist/index.js'));
const [tool] = core.createBuiltinTools({ cwd: root }).filter(({ name }) => name === 'read_files');
const context = { metadata: { modelSupportsImages: true } };
for await (const line of readline.createInterface({ input: process.stdin })) {
  const blocks = [];
  try {
    const results = await tool.execute(JSON.parse(line), context);
    // A model gets the results as JSON, and the images after it.
    for (const one of results.filter(({ result }) => Array.isArray(result))) {
      blocks.push(...one.result.filter(({ type }) => type === 'image'));
      one.result = one.result.filter(({ type }) => type === 'text').map(({ text }) => text);
    }
    print(JSON.stringify({ failed: false, text: JSON.stringify(results), blocks }));
  } catch (error) {
    print(JSON.stringify({ failed: true, text: String(error.message), blocks }));
  }
}
process.exit();

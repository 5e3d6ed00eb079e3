--- Async functions: coroutines that resume when a response arrives. Owns the handling of their failures.
local words = require('backstitch.words')

local M = {}

---@class backstitch.Failure
---@field message string
---@field hint? string Next step.
---@field kind? backstitch.FailureKind
---@field answer? backstitch.Plan

--- Error of a cancelled task; it is not reported.
M.CALLED_OFF = setmetatable({}, {
  __tostring = function()
    return 'called off'
  end,
})

---@param failure any
---@return string
function M.sentence(failure)
  if type(failure) ~= 'table' or not failure.message then
    return tostring(failure)
  end
  -- the server names its own commands
  local hint = failure.hint
    and failure.hint:gsub('`backstitch%.(%l+)`', function(name)
      return ':Backstitch ' .. (name == 'timeline' and 'log' or name)
    end)
  return hint and ('%s. %s'):format((failure.message:gsub('%.$', '')), words.sentence(hint)) or failure.message
end

---@param failure any
local function report(failure)
  if failure == M.CALLED_OFF then
    return
  end
  require('backstitch.notice').say('backstitch: ' .. M.sentence(failure), vim.log.levels.ERROR)
end

--- Runs a function that may `await`. `done` is called at its end with the failure or the result. Without `done` a failure
--- is shown to the user.
---@param fn async fun(): any
---@param done? fun(failure: any, result: any)
function M.run(fn, done)
  local thread = coroutine.create(fn)
  local function step(...)
    local ok, got = coroutine.resume(thread, ...)
    if not ok then
      -- a failure is a table; a string is a bug in this plugin and needs a traceback
      local failure = type(got) == 'string' and debug.traceback(thread, got) or got
      return (done or report)(failure, nil)
    end
    if coroutine.status(thread) == 'dead' then
      return done and done(nil, got)
    end
    local is_answered = false
    local begun, wrong = pcall(got, function(...)
      -- a second callback would resume the next `await`
      if not is_answered then
        is_answered = true
        step(...)
      end
    end)
    if not begun and not is_answered then
      is_answered = true
      return (done or report)(wrong, nil)
    end
  end
  step()
end

--- Waits until `begin` calls back, and returns what it was called with.
---@async
---@param begin fun(back: fun(...))
function M.await(begin)
  return coroutine.yield(begin)
end

---@param failure backstitch.Failure
---@return never
function M.fail(failure)
  error(failure, 0)
end

--- Async `vim.ui.select`. Choosing nothing cancels the task.
---@generic T
---@async
---@param items T[]
---@param opts vim.ui.select.Opts
---@return T
function M.select(items, opts)
  local chosen = M.await(function(back)
    vim.ui.select(items, opts, vim.schedule_wrap(back))
  end)
  if chosen == nil then
    error(M.CALLED_OFF, 0)
  end
  return chosen
end

--- Async `vim.ui.input`. Empty input cancels the task.
---@async
---@param opts table
---@return string
function M.input(opts)
  local typed = M.await(function(back)
    vim.ui.input(opts, vim.schedule_wrap(back))
  end)
  if typed == nil or typed == '' then
    error(M.CALLED_OFF, 0)
  end
  return typed
end

return M

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Java agent that adds CPU time to every local read: each call of ReadCommand.executeLocally first
 * runs a busy loop of as many microseconds as the option of the agent says.
 */
public class Burner implements ClassFileTransformer {
    static long micros;
    public static volatile long sink;

    public static void premain(String args, Instrumentation instrumentation) {
        micros = Long.parseLong(args);
        instrumentation.addTransformer(new Burner());
    }

    public static void plantedWork() {
        long end = System.nanoTime() + micros * 1000;
        long x = sink;
        while (System.nanoTime() < end) x = x * 31 + 7;
        sink = x;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] bytes) {
        if (!"org/apache/cassandra/db/ReadCommand".equals(name)) return null;
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new ClassVisitor(Opcodes.ASM7, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String method, String desc, String sig, String[] ex) {
                MethodVisitor next = super.visitMethod(access, method, desc, sig, ex);
                if (!"executeLocally".equals(method)) return next;
                return new MethodVisitor(Opcodes.ASM7, next) {
                    @Override
                    public void visitCode() {
                        super.visitCode();
                        visitMethodInsn(Opcodes.INVOKESTATIC, "Burner", "plantedWork", "()V", false);
                    }
                };
            }
        }, 0);
        return writer.toByteArray();
    }
}
